import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type AudioInfo, detectAudio } from './audio-info.ts'
import { encodeWavHeader } from './wav.ts'

function wav(seconds: number): Buffer {
  const bytes = seconds * 32_000
  return Buffer.concat([
    encodeWavHeader({ sampleRate: 16_000, channels: 1, bits: 16 }, bytes),
    Buffer.alloc(bytes),
  ])
}

/** MPEG-1 layer III, 128 kbit/s, 44.1 kHz. */
function mp3(frames: number): Buffer {
  const frame = Buffer.alloc(417)
  frame.set([0xff, 0xfb, 0x90, 0x00])
  return Buffer.concat(Array.from({ length: frames }, () => frame))
}

/** 44.1 kHz, 64 bytes a frame. */
function aac(frames: number): Buffer {
  const frame = Buffer.alloc(64)
  frame.set([0xff, 0xf1, 0x50, 0x80, 0x08, 0x1f, 0xfc])
  return Buffer.concat(Array.from({ length: frames }, () => frame))
}

/** STREAMINFO with 48 kHz. */
function flac(samples: number): Buffer {
  const bytes = Buffer.alloc(42)
  bytes.write('fLaC')
  bytes.writeUInt32BE(34, 4)
  bytes.writeUIntBE((48_000 << 4) | 2, 18, 3)
  bytes.writeUIntBE(Math.floor(samples / 2 ** 32) | 0xf0, 21, 1)
  bytes.writeUInt32BE(samples % 2 ** 32, 22)
  return bytes
}

function box(type: string, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(content.length + 8)
  head.write(type, 4)
  return Buffer.concat([head, content])
}

function movieHeader(duration: number): Buffer {
  const content = Buffer.alloc(100)
  content.writeUInt32BE(600, 12)
  content.writeUInt32BE(duration, 16)
  return box('mvhd', content)
}

function m4a(duration: number, ...further: Buffer[]): Buffer {
  return Buffer.concat([
    box('ftyp', Buffer.from('M4A ')),
    box('free', Buffer.alloc(9)),
    box('mdat', Buffer.alloc(50)),
    box('moov', movieHeader(duration), ...further),
  ])
}

function page(serial: number, flags: number, position: bigint, body: Buffer): Buffer {
  const head = Buffer.alloc(28)
  head.write('OggS')
  head[5] = flags
  head.writeBigInt64LE(position, 6)
  head.writeUInt32LE(serial, 14)
  head[26] = 1
  head[27] = body.length
  return Buffer.concat([head, body])
}

function opus(serial: number, seconds: number): Buffer {
  const first = Buffer.alloc(19)
  first.write('OpusHead')
  first.writeUInt16LE(312, 10)
  return Buffer.concat([
    page(serial, 2, 0n, first),
    page(serial, 0, 48_000n, Buffer.alloc(200)),
    page(serial, 0, -1n, Buffer.alloc(255)),
    page(serial, 4, BigInt(seconds * 48_000 + 312), Buffer.alloc(3)),
  ])
}

function vorbis(seconds: number): Buffer {
  const first = Buffer.alloc(30)
  first.write('\x01vorbis')
  first.writeUInt32LE(22_050, 12)
  return Buffer.concat([page(7, 2, 0n, first), page(7, 4, BigInt(seconds * 22_050), Buffer.alloc(99))])
}

const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x01\x02', 'latin1'), Buffer.alloc(130)])
const webm = Buffer.from('1a45dfa39f4286810142f7', 'hex')
const mp3Frame = 1152 / 44_100

test.each([
  ['wav', 2, wav(2)],
  ['mp3', 10 * mp3Frame, mp3(10)],
  ['mp3', 10 * mp3Frame, Buffer.concat([tag, mp3(10)])],
  ['mp3', 10 * mp3Frame, Buffer.concat([mp3(4), Buffer.from('other bytes'), mp3(6), Buffer.from('TAG')])],
  ['aac', (5 * 1024) / 44_100, aac(5)],
  ['flac', 2, flac(96_000)],
  ['flac', 2 ** 33 / 48_000, Buffer.concat([tag, flac(2 ** 33)])],
  ['flac', null, flac(0)],
  ['m4a', 2.5, m4a(1500)],
  ['m4a', null, m4a(0)],
  ['m4a', null, m4a(0xffffffff)],
  ['ogg', 3, opus(1, 3)],
  ['ogg', 7, Buffer.concat([opus(1, 3), opus(1, 4)])],
  ['ogg', 7, Buffer.concat([opus(1, 3), Buffer.from('lost'), opus(2, 4)])],
  ['ogg', 4, vorbis(4)],
  ['ogg', null, page(1, 2, 5n, Buffer.from('unknown'))],
  ['webm', null, webm],
] satisfies [AudioInfo['format'], number | null, Buffer][])(
  '%s of %p seconds',
  async (format, seconds, bytes) => {
    const info = await detectAudio(bytes)
    expect(info?.format).toBe(format)
    if (seconds === null) expect(info?.durationSeconds).toBeNull()
    else expect(info?.durationSeconds).toBeCloseTo(seconds, 6)
  },
)

test('fragments after the movie header have an unknown duration', async () => {
  expect(await detectAudio(m4a(1500, box('mvex')))).toEqual({ format: 'm4a', durationSeconds: null })
})

test('compressed WAV has an unknown duration', async () => {
  const file = wav(1)
  file.writeUInt16LE(17, 20)
  expect(await detectAudio(file)).toEqual({ format: 'wav', durationSeconds: null })
})

test('other files are no recordings', async () => {
  const others = [
    '',
    'ID3',
    '%PDF-1.7',
    'plain text',
    '\xff\xfet\0e\0x\0t\0',
    '\x89PNG\r\n\x1a\n',
    'RIFF\0\0\0\0WEBP',
  ]
  for (const other of others) expect(await detectAudio(Buffer.from(other, 'latin1'))).toBeNull()
  expect(await detectAudio(tag)).toBeNull()
})

test('no bytes make it throw, and a duration is never negative', async () => {
  const files = [wav(0.01), mp3(3), aac(3), flac(5), m4a(5), opus(1, 1), vorbis(1), tag]
  const changes = fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...files), changes, fc.nat(600), async (file, edits, end) => {
      const copy = Buffer.from(file.subarray(0, end))
      for (const [at, value] of edits) if (at >= 4 && at < copy.length) copy[at] = value
      const info = await detectAudio(copy)
      expect(info?.durationSeconds ?? 0).toBeGreaterThanOrEqual(0)
      expect(info?.durationSeconds ?? 0).toBeLessThan(Number.POSITIVE_INFINITY)
    }),
    { numRuns: 500 },
  )
})

test('endless streams and boxes are given up', async () => {
  const streams = Buffer.concat(Array.from({ length: 1500 }, (_, serial) => opus(serial, 1)))
  expect(await detectAudio(streams)).toEqual({ format: 'ogg', durationSeconds: null })
  const boxes = Buffer.concat([box('ftyp'), Buffer.alloc(1_000_000, box('free')), m4a(5)])
  expect(await detectAudio(boxes)).toEqual({ format: 'm4a', durationSeconds: null })
})

test.each([
  ['sync words', Buffer.concat([mp3(2), Buffer.alloc(10_000_000, 0xff)])],
  ['pages', Buffer.alloc(10_000_000, page(1, 0, 0n, Buffer.alloc(0)))],
])('S13 endless %s do not hold the event loop', async (_, bytes) => {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await detectAudio(bytes)
  isDone = true
  expect(turns).toBeGreaterThan(3)
})
