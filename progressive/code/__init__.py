"""Code mode: what a program that calls tools is told of them, and how it runs."""
