// The mock upstream: a raw socket and prepared bytes, so that it uses little CPU.
// The path selects the format, and the model the behavior: `whole`, `embedding-<encoding>`, `image`, `stream-<events>-<ms between events>`, or `hold` (a stream that never ends).
import type { Socket } from 'bun'
import type { UpstreamFormatName } from '../requests.ts'
import { embeddingReplies, imageReply, type MockReply, replies } from './mock-replies.ts'

interface Peer {
  received: Buffer[]
  size: number
  requestLength: number
  unsent: Buffer | null
}

interface Stream {
  socket: Socket<Peer>
  reply: MockReply
  remainingEvents: number
  paceMs: number
  dueAt: number
}

const emptyReply = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
const headEnd = Buffer.from('\r\n\r\n')
const modelField = Buffer.from('"model":"')
const formatPaths: [string, UpstreamFormatName][] = [
  ['POST /v1/messages', 'messages'],
  ['POST /v1/responses', 'responses'],
  ['POST /v1beta/models/', 'gemini'],
]
const paced = new Set<Stream>()
const held = new Set<Socket<Peer>>()
let streamCount = 0
let deliveredCount = 0

const server = Bun.listen<Peer>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { received: [], size: 0, requestLength: 0, unsent: null }
    },
    data: receive,
    drain(socket) {
      const { unsent } = socket.data
      socket.data.unsent = null
      if (unsent) send(socket, unsent)
    },
    close: removeSocket,
    error: removeSocket,
  },
})
setInterval(sendDueEvents, 1)
process.stdout.write(`listening on ${server.port}\n`)

function receive(socket: Socket<Peer>, chunk: Buffer): void {
  const peer = socket.data
  peer.received.push(chunk)
  peer.size += chunk.length
  if (peer.requestLength === 0) peer.requestLength = requestLengthOf(Buffer.concat(peer.received))
  if (peer.requestLength === 0 || peer.size < peer.requestLength) return
  const request = peer.received.length === 1 ? chunk : Buffer.concat(peer.received)
  Object.assign(peer, { received: [], size: 0, requestLength: 0 })
  respond(socket, request)
}

/** Length of the whole request; 0 until its head is complete. */
function requestLengthOf(start: Buffer): number {
  const end = start.indexOf(headEnd)
  if (end === -1) return 0
  const length = /\r\ncontent-length: *(\d+)/i.exec(start.toString('latin1', 0, end))?.[1] ?? '0'
  return end + headEnd.length + Number(length)
}

function respond(socket: Socket<Peer>, request: Buffer): void {
  const start = request.toString('latin1', 0, 100)
  if (start.startsWith('GET /open')) sendCount(socket, held.size)
  else if (start.startsWith('GET /delivered')) sendCount(socket, deliveredCount)
  else if (start.startsWith('POST /webhook')) {
    deliveredCount++
    send(socket, emptyReply)
  } else respondAsModel(socket, request, start)
}

function respondAsModel(socket: Socket<Peer>, request: Buffer, start: string): void {
  const format = formatPaths.find(([path]) => start.startsWith(path))?.[1] ?? 'chat'
  const model = format === 'gemini' ? (start.split(/[/:]/)[3] ?? '') : readModel(request)
  if (model === 'whole') send(socket, replies[format].whole)
  else if (model === 'embedding-float' || model === 'embedding-base64') send(socket, embeddingReplies[model])
  else if (model === 'image') send(socket, imageReply)
  else startStream(socket, model, replies[format])
}

function readModel(request: Buffer): string {
  const at = request.indexOf(modelField) + modelField.length
  return request.toString('latin1', at, request.indexOf('"', at))
}

function startStream(socket: Socket<Peer>, model: string, reply: MockReply): void {
  // The first token is sent with the head, so that no timer delays it.
  send(socket, reply.streamStart)
  if (model === 'hold') {
    held.add(socket)
    return
  }
  const [, events = '1', pace = '1'] = model.split('-')
  streamCount++
  // Streams start together; their events are spread, as those of independent clients.
  const dueAt = performance.now() + 1 + (streamCount % Number(pace))
  paced.add({ socket, reply, remainingEvents: Number(events) - 1, paceMs: Number(pace), dueAt })
}

function sendDueEvents(): void {
  const now = performance.now()
  for (const stream of paced) {
    if (stream.dueAt > now) continue
    // Never two at once, even if the timer is late: each read should return one event.
    stream.dueAt = Math.max(stream.dueAt + stream.paceMs, now + stream.paceMs / 2)
    send(stream.socket, stream.remainingEvents > 0 ? stream.reply.streamEvent : stream.reply.streamEnd)
    if (stream.remainingEvents-- === 0) paced.delete(stream)
  }
}

function sendCount(socket: Socket<Peer>, count: number): void {
  const text = String(count)
  send(socket, Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`))
}

function send(socket: Socket<Peer>, bytes: Buffer): void {
  const { unsent } = socket.data
  if (unsent) {
    socket.data.unsent = Buffer.concat([unsent, bytes])
    return
  }
  const written = Math.max(0, socket.write(bytes))
  if (written < bytes.length) socket.data.unsent = bytes.subarray(written)
}

function removeSocket(socket: Socket<Peer>): void {
  held.delete(socket)
  for (const stream of paced) if (stream.socket === socket) paced.delete(stream)
}
