// SPDX-License-Identifier: Apache-2.0
//
// An integer becomes a narrow number only where it says so.
// error: conversion from .int. to
#include "halftone/scalar.h"

#ifdef MISUSE
const halftone::float8_e4m3fn_t x = 1;
#else
const halftone::float8_e4m3fn_t x(1);
#endif
