// Names the calling thread for `top -H`, debuggers and profilers. At most 15 bytes count.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <string>

namespace digd {

inline void name_this_thread(std::string name) {
  name.resize(std::min<std::size_t>(name.size(), 15));
  pthread_setname_np(pthread_self(), name.c_str());
}

}  // namespace digd
