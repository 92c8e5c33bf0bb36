// What readers of the archive return: runs, their entries, and their answers, as stored.
//
// Plain values that own their texts.
#pragma once

#include <cstdint>
#include <string>

#include "archive/entry.h"

namespace digd::archive {

struct stored_run {
  std::uint64_t number = 0;
  std::string run;
  std::string hello;  // the frame of `run_opened`
  std::int64_t opened_ms = 0;
  std::int64_t last_ts = 0;  // the latest stamp or firing
  std::string ended;         // empty while the run is open
  std::uint64_t bytes = 0;   // of stored JSON
};

struct stored_entry {
  entry_kind kind = entry_kind::message;
  std::int64_t id = 0;  // ascending in the order of writing
  std::uint64_t n = 0, seq = 0;
  std::string session, type, frame, code, token;
  std::int64_t ts = 0;
};

// The answers to a session's messages with a seq above `after`, up to `upto`. Each call of `archive::answers` reads a
// part and moves the range behind it.
struct answer_range {
  std::uint64_t run_number = 0;
  std::string session;
  std::uint64_t after = 0, upto = 0;
  std::int64_t entry = -1;  // the last entry read; -1: none yet
};

struct stored_answer {
  std::uint64_t seq = 0;
  std::string response;  // the frame as sent; empty: `line` and `code` say why the message was refused
  std::string line, code;
};

}  // namespace digd::archive
