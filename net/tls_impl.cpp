// The one place where Asio's TLS is compiled, as daemon/asio_impl.cpp is for the rest.
#include <boost/asio/ssl/impl/src.hpp>
