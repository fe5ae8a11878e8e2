const headEnd = Buffer.from('\r\n\r\n')
const lineEnd = Buffer.from('\r\n')
const eventStart = Buffer.from('data:')
const emptyBuffer = Buffer.alloc(0)

/** Parses one HTTP/1.1 response incrementally, only to find its first event and its end. */
export class HttpResponseReader {
  status = 0
  done = false
  hasEvent = false
  /** The start of the body, for error messages. */
  bodyStart = ''
  #rest: Buffer = emptyBuffer
  #inHead = true
  #chunked = false
  #remaining = 0

  feed(bytes: Buffer): void {
    let input = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes
    if (this.#inHead) {
      const end = input.indexOf(headEnd)
      if (end === -1) {
        this.#rest = input
        return
      }
      this.#readHead(input.toString('latin1', 0, end))
      input = input.subarray(end + headEnd.length)
    }
    this.#rest = this.#chunked ? this.#readChunks(input) : this.#readPlain(input)
  }

  #readHead(head: string): void {
    this.#inHead = false
    this.status = Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length))
    this.#chunked = /\r\ntransfer-encoding: *chunked/i.test(head)
    this.#remaining = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  }

  #readPlain(input: Buffer): Buffer {
    this.#inspect(input)
    this.#remaining -= input.length
    this.done = this.#remaining <= 0
    return emptyBuffer
  }

  /** Returns the rest: the start of a chunk's size line. */
  #readChunks(start: Buffer): Buffer {
    let input = start
    while (input.length > 0) {
      if (this.#remaining > 0) {
        const part = input.subarray(0, this.#remaining)
        this.#inspect(part)
        this.#remaining -= part.length
        input = input.subarray(part.length)
        continue
      }
      const end = input.indexOf(lineEnd)
      if (end === -1) return input
      // The line end after a chunk's data reads as an empty line here.
      if (end > 0) {
        const size = Number.parseInt(input.toString('latin1', 0, end), 16)
        if (size === 0) return this.#finish(input.subarray(end + lineEnd.length))
        this.#remaining = size
      }
      input = input.subarray(end + lineEnd.length)
    }
    return emptyBuffer
  }

  #finish(tail: Buffer): Buffer {
    if (tail.length >= lineEnd.length) this.done = true
    else return Buffer.concat([Buffer.from('0\r\n'), tail])
    return emptyBuffer
  }

  #inspect(body: Buffer): void {
    if (!this.hasEvent) this.hasEvent = body.indexOf(eventStart) !== -1
    if (this.status !== 200 && this.bodyStart.length < 200) this.bodyStart += body.toString('latin1', 0, 200)
  }
}
