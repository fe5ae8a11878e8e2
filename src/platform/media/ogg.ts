/** A logical stream of the file. */
interface OggStream {
  /** Positions per second. */
  rate: number
  /** Positions before the sound starts. */
  skipped: number
  lastPosition: number
}

export const pageHeaderBytes = 27
const firstPageFlag = 2
const pagesPerStep = 100
/** One file after the other, each with its streams. */
const maxStreams = 1000

/** The first bytes of the first packet of each codec, and where it has its rate. */
const codecs: readonly {
  magic: Buffer
  minBytes: number
  read: (packet: Buffer) => Omit<OggStream, 'lastPosition'>
}[] = [
  {
    magic: Buffer.from('OpusHead'),
    minBytes: 12,
    read: (packet) => ({ rate: 48_000, skipped: packet.readUInt16LE(10) }),
  },
  {
    magic: Buffer.from('\x01vorbis'),
    minBytes: 16,
    read: (packet) => ({ rate: packet.readUInt32LE(12), skipped: 0 }),
  },
  {
    magic: Buffer.from('\x7fFLAC'),
    minBytes: 30,
    read: (packet) => ({ rate: packet.readUIntBE(27, 3) >> 4, skipped: 0 }),
  },
  {
    magic: Buffer.from('Speex   '),
    minBytes: 40,
    read: (packet) => ({ rate: packet.readUInt32LE(36), skipped: 0 }),
  },
]

/**
 * The length of an Ogg file: the last position of each stream that has sound, added up, since files may be joined. Null
 * when there is no such stream.
 */
export function* readOggSeconds(bytes: Buffer): Generator<undefined, number | null> {
  const streams: OggStream[] = []
  const bySerial = new Map<number, OggStream>()
  let at = 0
  for (let pages = 1; at >= 0 && at + pageHeaderBytes <= bytes.length; pages++) {
    const page = readOggPage(bytes, at)
    if (page?.isFirst) {
      const stream = readStream(page.body)
      bySerial.delete(page.serial)
      if (stream) bySerial.set(page.serial, stream)
      if (stream) streams.push(stream)
      if (streams.length > maxStreams) return null
    }
    const stream = page && bySerial.get(page.serial)
    if (stream) stream.lastPosition = Math.max(stream.lastPosition, page.position)
    at = page ? page.end : bytes.indexOf('OggS', at + 1)
    if (pages % pagesPerStep === 0) yield
  }
  if (streams.length === 0) return null
  return streams.reduce(
    (sum, { rate, skipped, lastPosition }) => sum + Math.max(0, lastPosition - skipped) / rate,
    0,
  )
}

interface OggPage {
  isFirst: boolean
  serial: number
  /** The granule position of the last packet that ends on the page; -1 when none does. */
  position: number
  body: Buffer
  end: number
}

/** Reads the header of a page, whose end may be beyond the bytes. */
export function readOggPage(bytes: Buffer, at: number): OggPage | null {
  if (bytes.toString('latin1', at, at + 4) !== 'OggS') return null
  const bodyStart = at + pageHeaderBytes + (bytes[at + 26] ?? 0)
  let end = bodyStart
  for (let index = at + pageHeaderBytes; index < bodyStart; index++) end += bytes[index] ?? 0
  return {
    isFirst: ((bytes[at + 5] ?? 0) & firstPageFlag) !== 0,
    serial: bytes.readUInt32LE(at + 14),
    position: Number(bytes.readBigInt64LE(at + 6)),
    body: bytes.subarray(bodyStart, end),
    end,
  }
}

function readStream(packet: Buffer): OggStream | null {
  const codec = codecs.find(({ magic }) => packet.subarray(0, magic.length).equals(magic))
  if (!codec || packet.length < codec.minBytes) return null
  const { rate, skipped } = codec.read(packet)
  return rate === 0 ? null : { rate, skipped, lastPosition: 0 }
}
