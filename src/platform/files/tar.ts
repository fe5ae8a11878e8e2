/** An entry of a tar archive. What is not read of its body is skipped. */
export interface TarEntry {
  name: string
  size: number
  body: AsyncGenerator<Uint8Array>
}

/** The archive ends before its end mark, or something in it is not what was written. */
export class TarError extends Error {}

const blockBytes = 512
/** The largest size in the eleven octal digits of a header. */
const maxOctalSize = 8 ** 11 - 1
const utf8 = new TextDecoder()

/** The header of a file that only its owner can read, in the format of POSIX (ustar). */
export function encodeTarHeader(name: string, size: number, modifiedAt: number): Uint8Array {
  const header = Buffer.alloc(blockBytes)
  const { prefix, rest } = splitName(name)
  header.write(rest, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0'.repeat(2), 108)
  encodeSize(size).copy(header, 124)
  header.write(
    `${Math.floor(modifiedAt / 1000)
      .toString(8)
      .padStart(11, '0')}\0`,
    136,
  )
  header.write(' '.repeat(8), 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(prefix, 345)
  header.write(`${sumBytes(header).toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

/** The zeros that complete the last block of a file. */
export function encodeTarPadding(size: number): Uint8Array {
  return new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes)
}

/** The end mark. */
export const tarEnd: Uint8Array = new Uint8Array(2 * blockBytes)

/** Long names are split at a slash. */
function splitName(name: string): { prefix: string; rest: string } {
  if (Buffer.byteLength(name) <= 100) return { prefix: '', rest: name }
  for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
    const [prefix, rest] = [name.slice(0, at), name.slice(at + 1)]
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(rest) <= 100) return { prefix, rest }
  }
  throw new TarError(`the name ${name} is too long for an archive`)
}

/** A size beyond eight gigabytes is binary, as GNU tar has it. */
function encodeSize(size: number): Buffer {
  if (size <= maxOctalSize) return Buffer.from(`${size.toString(8).padStart(11, '0')}\0`)
  const field = Buffer.alloc(12)
  field[0] = 0x80
  field.writeBigUInt64BE(BigInt(size), 4)
  return field
}

function decodeSize(field: Buffer): number {
  if (field[0] === 0x80) return Number(field.readBigUInt64BE(4))
  return Number.parseInt(field.toString('latin1'), 8)
}

/** The checksum field itself counts as spaces. */
function sumBytes(header: Uint8Array): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0)
}

/** Reads an archive in the order of its entries; one that is cut or damaged is an error. */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const reader = new ChunkReader(chunks)
  for (;;) {
    const header = await reader.read(blockBytes)
    if (header.every((byte) => byte === 0)) return reader.skipRest()
    const entry = decodeHeader(header)
    const body = reader.stream(entry.size)
    yield { ...entry, body }
    for await (const _ of body);
    await reader.read(encodeTarPadding(entry.size).length)
  }
}

function decodeHeader(header: Buffer): { name: string; size: number } {
  const text = (start: number, length: number) =>
    utf8.decode(header.subarray(start, start + length)).replace(/\0.*$/s, '')
  const sum = Number.parseInt(text(148, 8), 8)
  const size = decodeSize(header.subarray(124, 136))
  if (sum !== sumBytes(header) || !Number.isSafeInteger(size)) throw new TarError('an entry is damaged')
  const prefix = text(345, 155)
  return { name: prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`, size }
}

class ChunkReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest: Uint8Array = new Uint8Array()

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  async read(count: number): Promise<Buffer> {
    const parts: Uint8Array[] = []
    for await (const part of this.stream(count)) parts.push(part)
    return Buffer.concat(parts)
  }

  async *stream(count: number): AsyncGenerator<Uint8Array> {
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0) await this.#pull()
      const part = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(part.length)
      left -= part.length
      yield part
    }
  }

  /** Reads to the end, so that the source notices what is wrong there. */
  async skipRest(): Promise<void> {
    while (!(await this.#chunks.next()).done);
  }

  async #pull(): Promise<void> {
    const { done, value } = await this.#chunks.next()
    if (done) throw new TarError('it ends too early')
    this.#rest = value
  }
}
