import { dlopen, FFIType, type Pointer, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

// One listening socket for several processes. The runtime cannot listen on a socket that it has inherited, so a server
// is started on a port of its own, and its socket is replaced by the inherited one: its descriptor and its registration
// with epoll remain, with the same data. Processes that share one socket share its queue of connections: one of them
// can leave it, or crash, and no connection is lost. With SO_REUSEPORT each process has a queue of its own, which the
// kernel discards with the connections in it.

/** Where this module works: Linux has epoll and `/proc`. */
export const canShareSockets = process.platform === 'linux'

const fcntlDuplicate = 1030
const closeOnExec = 0o2000000
const epollAdd = 1
const epollDelete = 2
const solSocket = 1
const soAcceptConn = 30

const { i32, pointer } = FFIType
const libraryNames = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]

function openLibrary(name: string) {
  return dlopen(name, {
    fcntl: { args: [i32, i32, i32], returns: i32 },
    dup3: { args: [i32, i32, i32], returns: i32 },
    close: { args: [i32], returns: i32 },
    epoll_ctl: { args: [i32, i32, i32, pointer], returns: i32 },
    getsockname: { args: [i32, pointer, pointer], returns: i32 },
    getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
  }).symbols
}

type Library = ReturnType<typeof openLibrary>
let library: Library | undefined

function loadLibrary(): Library {
  for (const name of libraryNames) {
    try {
      library ??= openLibrary(name)
    } catch {
      // The C library of another kind of system.
    }
  }
  if (!library) throw new Error('the C library was not found')
  return library
}

interface SharedSocket {
  fd: number
  port: number
  close(): void
}

/** Opens a socket that other processes accept connections from; this one accepts none. Throws if the port is in use. */
export function openSharedSocket(hostname: string, port: number): SharedSocket {
  const libc = loadLibrary()
  const server = Bun.serve({ hostname, port, fetch: () => new Response() })
  try {
    const openPort = server.port ?? port
    const fd = libc.fcntl(findListener(libc, openPort), fcntlDuplicate, 3)
    if (fd < 0) throw new Error('the listening socket cannot be duplicated')
    return { fd, port: openPort, close: () => void libc.close(fd) }
  } finally {
    void server.stop(true)
  }
}

/** Makes a server accept from an inherited socket instead of its own. Returns what ends that; the rest goes on. */
export function replaceListener(
  server: { readonly port?: number | undefined },
  inherited: number,
): () => void {
  const libc = loadLibrary()
  const listener = findListener(libc, server.port ?? 0)
  const { epoll, events, data } = findRegistration(listener)
  // Closes the server's own socket, and with it the registration.
  if (libc.dup3(inherited, listener, closeOnExec) < 0)
    throw new Error('the listening socket cannot be replaced')
  libc.close(inherited)
  if (libc.epoll_ctl(epoll, epollAdd, listener, encodeEvent(events, data)) < 0)
    throw new Error('the inherited socket cannot be watched')
  return () => void libc.epoll_ctl(epoll, epollDelete, listener, null)
}

function listDescriptors(isMatch: (target: string) => boolean): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => {
      try {
        return isMatch(readlinkSync(`/proc/self/fd/${fd}`))
      } catch {
        // Closed meanwhile, such as that of the folder itself.
        return false
      }
    })
}

function findListener(libc: Library, port: number): number {
  const sockets = listDescriptors((target) => target.startsWith('socket:'))
  const found = sockets.filter((fd) => isListening(libc, fd) && readPort(libc, fd) === port)
  const [fd] = found
  if (fd === undefined || found.length > 1)
    throw new Error(`${found.length} descriptors listen on port ${port}`)
  return fd
}

function isListening(libc: Library, fd: number): boolean {
  const [value, size] = [new Int32Array(1), new Int32Array([4])]
  return libc.getsockopt(fd, solSocket, soAcceptConn, ptr(value), ptr(size)) === 0 && value[0] === 1
}

/** At the same place in addresses of IPv4 and IPv6. */
function readPort(libc: Library, fd: number): number {
  const [address, size] = [new Uint8Array(128), new Int32Array([128])]
  if (libc.getsockname(fd, ptr(address), ptr(size)) < 0) return -1
  return new DataView(address.buffer).getUint16(2)
}

/** Which epoll watches a descriptor, and how. */
function findRegistration(fd: number): { epoll: number; events: number; data: bigint } {
  const pattern = new RegExp(`^tfd:\\s+${fd}\\s+events:\\s+([0-9a-f]+)\\s+data:\\s+([0-9a-f]+)`, 'm')
  const found = listDescriptors((target) => target === 'anon_inode:[eventpoll]').flatMap((epoll) => {
    const [, events, data] = pattern.exec(readFileSync(`/proc/self/fdinfo/${epoll}`, 'utf8')) ?? []
    return data ? [{ epoll, events: Number.parseInt(`${events}`, 16), data: BigInt(`0x${data}`) }] : []
  })
  const [registration] = found
  if (!registration || found.length > 1) throw new Error(`${found.length} epolls watch the listening socket`)
  return registration
}

/** `struct epoll_event`, which is packed on x86-64 only. */
function encodeEvent(events: number, data: bigint): Pointer {
  const view = new DataView(new ArrayBuffer(16))
  view.setUint32(0, events, true)
  view.setBigUint64(process.arch === 'x64' ? 4 : 8, data, true)
  return ptr(view)
}
