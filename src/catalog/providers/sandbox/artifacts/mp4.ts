/** One stream of an MP4 file, its samples stored one after the other. */
export interface Track {
  /** Units of a second for durations. */
  timescale: number
  samples: readonly Uint8Array[]
  /** Duration of each sample, in units of the timescale. */
  sampleDuration: number
  /** Duration of the whole track: the last sample is shorter if they do not divide. */
  duration: number
  /** Numbers of the samples that can be decoded alone, from 1; null when all can. */
  keySamples: number[] | null
  /** The sample description. */
  description: Buffer
  /** Null for sound. */
  size: { width: number; height: number } | null
}

const movieTimescale = 1000
const brands = ['isom', 'iso2', 'avc1', 'mp41']
/** A rotation by nothing, as fixed-point numbers. */
const identityMatrix = buildNumbers(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
/** ISO 639-2 "und" in five bits a letter. */
const undeterminedLanguage = 0x55c4

/** The parts of the file in order, the index first. */
export function* writeMp4(tracks: readonly Track[]): Generator<Uint8Array> {
  const type = buildBox('ftyp', Buffer.from('isom\0\0\x02\0', 'latin1'), Buffer.from(brands.join('')))
  const sizes = tracks.map(({ samples }) => samples.reduce((sum, sample) => sum + sample.length, 0))
  // Offsets do not change the length of the index, so it is built once to measure it.
  const dataStart = type.length + buildMovie(tracks, sizes, 0).length + 8
  const total = sizes.reduce((sum, size) => sum + size, 8)
  const movie = buildMovie(tracks, sizes, dataStart)
  yield Buffer.concat([type, movie, buildNumbers(total), Buffer.from('mdat')])
  for (const { samples } of tracks) yield Buffer.concat(samples)
}

export function buildBox(type: string, ...contents: Uint8Array[]): Buffer {
  const length = contents.reduce((sum, content) => sum + content.length, 8)
  return Buffer.concat([buildNumbers(length), Buffer.from(type, 'latin1'), ...contents])
}

/** 32 bits each. */
export function buildNumbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}

/** 16 bits each. */
export function buildShorts(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}

function buildMovie(tracks: readonly Track[], sizes: readonly number[], dataStart: number): Buffer {
  const duration = Math.max(...tracks.map(toMovieDuration))
  const header = buildBox(
    'mvhd',
    buildNumbers(0, 0, 0, movieTimescale, duration, 0x10000),
    buildShorts(0x100, 0, 0, 0, 0, 0),
    identityMatrix,
    Buffer.alloc(24),
    buildNumbers(tracks.length + 1),
  )
  let offset = dataStart
  const boxes = tracks.map((track, index) => {
    const box = buildTrack(track, index + 1, offset)
    offset += sizes[index] ?? 0
    return box
  })
  return buildBox('moov', header, ...boxes)
}

function toMovieDuration({ duration, timescale }: Track): number {
  return Math.round((duration * movieTimescale) / timescale)
}

function buildTrack(track: Track, id: number, offset: number): Buffer {
  const { size, timescale, duration } = track
  const enabled = 7
  const volume = size ? 0 : 0x100
  const header = buildBox(
    'tkhd',
    buildNumbers(enabled, 0, 0, id, 0, toMovieDuration(track), 0, 0),
    buildShorts(0, 0, volume, 0),
    identityMatrix,
    buildNumbers((size?.width ?? 0) * 0x10000, (size?.height ?? 0) * 0x10000),
  )
  const mediaHeader = buildBox(
    'mdhd',
    buildNumbers(0, 0, 0, timescale, duration),
    buildShorts(undeterminedLanguage, 0),
  )
  const handler = buildBox(
    'hdlr',
    buildNumbers(0, 0),
    Buffer.from(size ? 'vide' : 'soun'),
    Buffer.alloc(12),
    Buffer.from(size ? 'Video\0' : 'Sound\0'),
  )
  const kindHeader = size ? buildBox('vmhd', buildNumbers(1, 0, 0)) : buildBox('smhd', buildNumbers(0, 0))
  const reference = buildBox('dref', buildNumbers(0, 1), buildBox('url ', buildNumbers(1)))
  const information = buildBox(
    'minf',
    kindHeader,
    buildBox('dinf', reference),
    buildSampleTable(track, offset),
  )
  return buildBox('trak', header, buildBox('mdia', mediaHeader, handler, information))
}

function buildSampleTable(track: Track, offset: number): Buffer {
  const { samples, keySamples, description } = track
  const times = buildTimes(track)
  return buildBox(
    'stbl',
    buildBox('stsd', buildNumbers(0, 1), description),
    buildBox('stts', buildNumbers(0, times.length, ...times.flat())),
    ...(keySamples ? [buildBox('stss', buildNumbers(0, keySamples.length, ...keySamples))] : []),
    buildBox('stsc', buildNumbers(0, 1, 1, samples.length, 1)),
    buildBox('stsz', buildNumbers(0, 0, samples.length, ...samples.map((sample) => sample.length))),
    buildBox('stco', buildNumbers(0, 1, offset)),
  )
}

/** Pairs of a count and a duration. */
function buildTimes({ samples, sampleDuration, duration }: Track): [number, number][] {
  const last = duration - (samples.length - 1) * sampleDuration
  if (last === sampleDuration) return [[samples.length, sampleDuration]]
  const times: [number, number][] = [
    [samples.length - 1, sampleDuration],
    [1, last],
  ]
  return times.filter(([count]) => count > 0)
}
