// `printf` in checked code (CUDA C++ Programming Guide, "Formatted Output").
//
// nvcc calls `vprintf` with a format and a buffer of the arguments, each of 4 or 8 bytes as C's
// default promotions have it, and each at a multiple of its size. The format is taken apart when the
// kernel runs, and every conversion is printed by the C library's own `fprintf`. What one call
// prints is written at once, to standard error.
#pragma once
#include "monitor.cuh"

const u32 MOST_SPECIFIED = 64;

// The arguments that are left, and how many were taken.
struct Arguments {
  u64 next;
  u32 count;
};

template <class T>
INNER T take(Arguments& arguments) {
  u64 place = arguments.next + (sizeof(T) - 1) & -sizeof(T);
  arguments.next = place + sizeof(T);
  arguments.count++;
  return *(const T*)place;
}

// Whether a character is one of some; zero is none.
CHECK __noinline__ u32 check_is_one_of(u32 character, const char* some) {
  ROLLED for (; *some; some++) if (*some == (char)character) return 1;
  return 0;
}

// A conversion's specification ("%-8ld"), with widths that are arguments as numbers in it.
struct Specification {
  char text[MOST_SPECIFIED];
  u32 size;
};

// Append a character, if there is room for it and what follows.
INNER void append(Specification& specification, char character) {
  if (specification.size >= MOST_SPECIFIED - 2) return;
  specification.text[specification.size++] = character;
  specification.text[specification.size] = 0;
}

// A width or precision that is an argument.
INNER void append_number(Specification& specification, int number) {
  if (number < 0) append(specification, '-');
  u32 rest = abs(number), unit = 1;
  ROLLED while (rest / unit >= 10) unit *= 10;
  ROLLED for (; unit; rest %= unit, unit /= 10) append(specification, '0' + rest / unit);
}

// Returns how many arguments were printed.
CHECK u32 check_print(const char* format, u64 buffer) {
  Arguments arguments = {buffer, 0};
  char* text;
  u64 size;
  Stream* out = c_open_memstream(&text, &size);
  ROLLED while (*format) {
    char character = *format++;
    if (character != '%') {
      c_fputc(character, out);
      continue;
    }
    Specification specification;
    specification.size = 0;
    append(specification, '%');
    bool is_wide = false;  // of an integer: `h` and `hh` are promoted to 4 bytes
    ROLLED while (check_is_one_of(*format, "-+ #0123456789.hljzt*")) {
      character = *format++;
      is_wide |= check_is_one_of(character, "ljzt");
      if (character == '*')
        append_number(specification, take<int>(arguments));
      else
        append(specification, character);
    }
    if (!*format) break;
    character = *format++;
    append(specification, character);
    if (character == '%') {
      c_fputc('%', out);
    } else if (check_is_one_of(character, "fFeEgGaA")) {
      c_fprintf_double(out, specification.text, take<double>(arguments));
    } else if (character == 'c' || (!is_wide && check_is_one_of(character, "diuoxX"))) {
      c_fprintf_int(out, specification.text, take<u32>(arguments));
    } else if (check_is_one_of(character, "diuoxXps")) {
      u64 value = take<u64>(arguments);
      if (character == 's' && !value) value = (u64) "(null)";
      c_fprintf_long(out, specification.text, value);
    } else {
      c_fputs(specification.text, out);  // as it is
    }
  }
  c_fclose(out);
  c_write(2, text, size);
  c_free(text);
  return arguments.count;
}
