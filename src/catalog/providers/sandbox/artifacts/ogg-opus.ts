import { computeCrc, createCrc } from './crc.ts'

/** Positions are counted at this rate, whatever the rate of the recording was. */
const positionsPerSecond = 48_000
const positionsPerPacket = 960
/** Positions that a decoder discards before the sound starts. */
const skippedPositions = 312
/** A frame of 20 ms without sound: CELT with the full band, mono. */
const silentPacket = Buffer.from('f8fffe', 'hex')
const flags = { none: 0, first: 2, last: 4 }
const serial = 1
const pageCrc = createCrc(32, 0x04c11db7)

/** A silent Ogg Opus file as long as the blocks of samples. */
export function* encodeSilentOpus(
  blocks: Iterable<Int16Array>,
  { sampleRate, totalSamples }: { sampleRate: number; totalSamples: number },
): Generator<Uint8Array> {
  const scale = positionsPerSecond / sampleRate
  const end = skippedPositions + totalSamples * scale
  const packets = Math.ceil(end / positionsPerPacket)
  yield encodePage({ flags: flags.first, position: 0, number: 0, packets: [buildHead(sampleRate)] })
  yield encodePage({ flags: flags.none, position: 0, number: 1, packets: [buildTags()] })
  let samples = 0
  let written = 0
  let number = 2
  for (const block of blocks) {
    samples += block.length
    const isLast = samples >= totalSamples
    const due = isLast ? packets : Math.floor((samples * scale) / positionsPerPacket)
    if (due === written) continue
    yield encodePage({
      flags: isLast ? flags.last : flags.none,
      position: isLast ? end : due * positionsPerPacket,
      number: number++,
      packets: Array<Buffer>(due - written).fill(silentPacket),
    })
    written = due
  }
}

function buildHead(sampleRate: number): Buffer {
  const head = Buffer.alloc(19)
  head.write('OpusHead')
  head.writeUInt8(1, 8)
  head.writeUInt8(1, 9)
  head.writeUInt16LE(skippedPositions, 10)
  head.writeUInt32LE(sampleRate, 12)
  return head
}

function buildTags(): Buffer {
  const vendor = 'sandbox'
  const tags = Buffer.alloc(16 + vendor.length)
  tags.write('OpusTags')
  tags.writeUInt32LE(vendor.length, 8)
  tags.write(vendor, 12)
  return tags
}

/** Encodes packets shorter than 255 bytes. */
function encodePage(page: { flags: number; position: number; number: number; packets: Buffer[] }): Buffer {
  const { packets } = page
  const header = Buffer.alloc(27)
  header.write('OggS')
  header.writeUInt8(page.flags, 5)
  header.writeBigInt64LE(BigInt(Math.round(page.position)), 6)
  header.writeUInt32LE(serial, 14)
  header.writeUInt32LE(page.number, 18)
  header.writeUInt8(packets.length, 26)
  const bytes = Buffer.concat([header, Buffer.from(packets.map(({ length }) => length)), ...packets])
  bytes.writeUInt32LE(computeCrc(pageCrc, bytes), 22)
  return bytes
}
