// The only file that compiles Asio's TLS; net/asio_impl.cpp compiles the rest.
#include <boost/asio/ssl/impl/src.hpp>
