import { runInSlices } from '../../../lib/time-slicer.ts'
import { aacConfig, aacSampleRate, encodeAacFrame, samplesPerAacFrame } from './aac.ts'
import {
  chooseLevel,
  encodeChangedPicture,
  encodeKeyPicture,
  encodePictureParameters,
  encodeSequence,
  macroblockSize,
  type VideoPicture,
} from './h264.ts'
import { buildBox, buildNumbers, buildShorts, type Track, writeMp4 } from './mp4.ts'
import { type Colour, composeScene } from './scene.ts'

export interface FilmOptions {
  text: string
  /** Even numbers. */
  width: number
  height: number
  /** Rounded to whole frames. */
  seconds: number
  withAudio: boolean
  seed: number
}

export const maxFilmSeconds = 60
export const framesPerSecond = 24
const minSide = 64
/** Each may take as much as an uncompressed picture, so a long film has no more of them. */
const maxKeyFrames = 3
const minKeyInterval = 4 * framesPerSecond
const barColour: Colour = [255, 196, 61]
/** The height of the bar is this share of the picture. */
const barShare = 1 / 40
/** A beep starts each second. */
const beepSeconds = 0.2

/**
 * An MP4 with the words of the text and a bar that grows with time: H.264 (constrained baseline), and if requested
 * AAC sound, a beep each second. All is encoded before the first bytes, since the index is in front.
 */
export async function* renderFilm(options: FilmOptions): AsyncGenerator<Uint8Array> {
  const { width, height, seconds, withAudio } = options
  const level = chooseLevel({ width, height, framesPerSecond })
  if (!isSide(width) || !isSide(height) || level === null) {
    throw new RangeError(`width and height must be even numbers from ${minSide} to 4096 x 2304 pixels`)
  }
  const frameCount = Math.round(seconds * framesPerSecond)
  if (!(frameCount >= 1 && seconds <= maxFilmSeconds)) {
    throw new RangeError(`seconds must be at most ${maxFilmSeconds}, and at least one frame`)
  }
  const video = await runInSlices(encodeVideo(options, level, frameCount))
  const tracks = withAudio ? [encodeSound(frameCount / framesPerSecond), video] : [video]
  yield* writeMp4(tracks)
}

function isSide(side: number): boolean {
  return side >= minSide && side % 2 === 0
}

function* encodeVideo(options: FilmOptions, level: number, frameCount: number): Generator<undefined, Track> {
  const { width, height } = options
  const picture = yield* paintPicture(options)
  const keyInterval = Math.max(minKeyInterval, Math.ceil(frameCount / maxKeyFrames))
  const samples: Buffer[] = []
  const keySamples: number[] = []
  let barEnd = 0
  for (let frame = 0; frame < frameCount; frame++) {
    const nextEnd = Math.round((width * (frame + 1)) / frameCount / 2) * 2
    const changes = growBar(picture, barEnd, nextEnd)
    barEnd = nextEnd
    const number = frame % keyInterval
    if (number === 0) keySamples.push(frame + 1)
    const unit =
      number === 0
        ? yield* encodeKeyPicture(picture, keySamples.length)
        : encodeChangedPicture(picture, number, changes)
    samples.push(Buffer.concat([buildNumbers(unit.length), unit]))
    yield
  }
  return {
    timescale: framesPerSecond,
    samples,
    sampleDuration: 1,
    duration: frameCount,
    keySamples,
    description: describeVideo(width, height, level),
    size: { width, height },
  }
}

/** The scene in the colours of video, one row of macroblocks at a time. */
function* paintPicture({ text, width, height, seed }: FilmOptions): Generator<undefined, VideoPicture> {
  const columns = Math.ceil(width / macroblockSize)
  const rows = Math.ceil(height / macroblockSize)
  const scene = composeScene(text, width, height, seed)
  const colours = scene.palette.map(toVideoColour)
  const stride = columns * macroblockSize
  const planes = [1, 2, 2].map((divisor) => ({
    data: new Uint8Array((stride / divisor) * ((rows * macroblockSize) / divisor)),
    stride: stride / divisor,
    blockSize: macroblockSize / divisor,
  }))
  const indexes = new Uint8Array(stride)
  for (let y = 0; y < rows * macroblockSize; y++) {
    // Beyond the edge, the last row and column go on: decoders cut them off.
    scene.paintRow(Math.min(y, height - 1), indexes.subarray(0, width))
    indexes.fill(indexes[width - 1] ?? 0, width)
    for (const [component, plane] of planes.entries()) {
      const step = component === 0 ? 1 : 2
      if (y % step !== 0) continue
      const start = (y / step) * plane.stride
      for (let x = 0; x < plane.stride; x++) {
        plane.data[start + x] = colours[indexes[x * step] ?? 0]?.[component] ?? 0
      }
    }
    if (y % 4 === 3) yield
  }
  return { columns, rows, planes }
}

/** BT.709 in the limited range. */
function toVideoColour([red, green, blue]: Colour): [number, number, number] {
  const luma = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255
  const blueDifference = (blue / 255 - luma) / 1.8556
  const redDifference = (red / 255 - luma) / 1.5748
  return [
    Math.round(16 + 219 * luma),
    Math.round(128 + 224 * blueDifference),
    Math.round(128 + 224 * redDifference),
  ]
}

/** Paints the bar from one column of pixels to the next, and returns the macroblocks that changed. */
function growBar(
  { columns, rows, planes }: VideoPicture,
  from: number,
  to: number,
): { column: number; row: number }[] {
  const barRows = Math.max(1, Math.round(rows * barShare))
  const firstRow = rows - 2 * barRows
  const colour = toVideoColour(barColour)
  for (const [component, { data, stride, blockSize }] of planes.entries()) {
    const scale = blockSize / macroblockSize
    for (let y = firstRow * blockSize; y < (firstRow + barRows) * blockSize; y++) {
      data.fill(colour[component] ?? 0, y * stride + from * scale, y * stride + to * scale)
    }
  }
  const changes: { column: number; row: number }[] = []
  if (to === from) return changes
  const lastColumn = Math.min(columns - 1, Math.floor((to - 1) / macroblockSize))
  for (let row = firstRow; row < firstRow + barRows; row++) {
    for (let column = Math.floor(from / macroblockSize); column <= lastColumn; column++) {
      changes.push({ column, row })
    }
  }
  return changes
}

function describeVideo(width: number, height: number, level: number): Buffer {
  const sequence = encodeSequence({ width, height, framesPerSecond }, level)
  const picture = encodePictureParameters()
  const configuration = buildBox(
    'avcC',
    Buffer.from([1, ...sequence.subarray(1, 4), 0xff, 0xe1]),
    buildShorts(sequence.length),
    sequence,
    Buffer.of(1),
    buildShorts(picture.length),
    picture,
  )
  const resolution = 72 * 0x10000
  return buildBox(
    'avc1',
    buildShorts(0, 0, 0, 1),
    Buffer.alloc(16),
    buildShorts(width, height),
    buildNumbers(resolution, resolution, 0),
    buildShorts(1),
    Buffer.alloc(32),
    buildShorts(24, 0xffff),
    configuration,
  )
}

function encodeSound(seconds: number): Track {
  const duration = Math.round(seconds * aacSampleRate)
  const samples = Array.from({ length: Math.ceil(duration / samplesPerAacFrame) }, (_, number) => {
    const second = ((number * samplesPerAacFrame) / aacSampleRate) % 1
    return encodeAacFrame(number, second < beepSeconds)
  })
  return {
    timescale: aacSampleRate,
    samples,
    sampleDuration: samplesPerAacFrame,
    duration,
    keySamples: null,
    description: describeSound(),
    size: null,
  }
}

function describeSound(): Buffer {
  const decoderConfig = buildDescriptor(
    4,
    // AAC, an audio stream, and no figures for its buffer and rate.
    Buffer.concat([Buffer.of(0x40, 0x15, 0, 0, 0), buildNumbers(0, 0), buildDescriptor(5, aacConfig)]),
  )
  const stream = buildDescriptor(
    3,
    Buffer.concat([Buffer.of(0, 1, 0), decoderConfig, buildDescriptor(6, Buffer.of(2))]),
  )
  return buildBox(
    'mp4a',
    buildShorts(0, 0, 0, 1, 0, 0, 0, 0, 1, 16, 0, 0, aacSampleRate, 0),
    buildBox('esds', buildNumbers(0), stream),
  )
}

/** A descriptor of MPEG-4 systems, shorter than 128 bytes. */
function buildDescriptor(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(tag, content.length), content])
}
