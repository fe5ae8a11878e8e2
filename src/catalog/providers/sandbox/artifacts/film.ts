import { runInSlices } from '../../../../platform/time/time-slicer.ts'
import { aacConfig, aacSampleRate, samplesPerAacFrame, silentAacFrame } from './aac.ts'
import {
  chooseLevel,
  countMacroblocks,
  encodeKeyPicture,
  encodePictureParameters,
  encodeSamePicture,
  encodeSequence,
  macroblockSize,
  type VideoPicture,
} from './h264.ts'
import { buildBox, buildNumbers, buildShorts, type Track, writeMp4 } from './mp4.ts'
import { type Color, composeScene, type Scene } from './scene.ts'

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

const maxFilmSeconds = 60
const framesPerSecond = 24
const minSide = 64

/**
 * An MP4 that shows the words of the text: H.264 (constrained baseline), and if requested AAC sound, which is silent.
 * All is encoded before the first bytes, since the index is in front.
 */
export async function* renderFilm(options: FilmOptions): AsyncGenerator<Uint8Array> {
  const { text, width, height, seconds, withAudio, seed } = options
  const level = chooseLevel(countMacroblocks(width), countMacroblocks(height), framesPerSecond)
  if (!isSide(width) || !isSide(height) || level === null) {
    throw new RangeError(`width and height must be even numbers from ${minSide} to 4096 x 2304 pixels`)
  }
  const frameCount = Math.round(seconds * framesPerSecond)
  if (!(frameCount >= 1 && seconds <= maxFilmSeconds)) {
    throw new RangeError(`seconds must be at most ${maxFilmSeconds}, and at least one frame`)
  }
  const picture = createVideoPicture(composeScene(text, width, height, seed))
  const key = await runInSlices(encodeKeyPicture(picture))
  const units = Array.from({ length: frameCount }, (_, frame) =>
    frame === 0 ? key : encodeSamePicture(picture, frame),
  )
  const video: Track = {
    timescale: framesPerSecond,
    samples: units.map((unit) => Buffer.concat([buildNumbers(unit.length), unit])),
    sampleDuration: 1,
    duration: frameCount,
    keySamples: [1],
    description: describeVideo(width, height, level),
    size: { width, height },
  }
  yield* writeMp4(withAudio ? [buildSound(frameCount / framesPerSecond), video] : [video])
}

function isSide(side: number): boolean {
  return side >= minSide && side % 2 === 0
}

/** The scene in the colors of video. Beyond its edges, the last row and column go on: decoders cut them off. */
function createVideoPicture(scene: Scene): VideoPicture {
  const columns = countMacroblocks(scene.width)
  const colors = scene.palette.map(toVideoColor)
  const stride = columns * macroblockSize
  const indexes = new Uint8Array(stride * macroblockSize)
  const paintRow = (row: number) => {
    for (let y = 0; y < macroblockSize; y++) {
      const line = indexes.subarray(y * stride, (y + 1) * stride)
      scene.paintRow(Math.min(row * macroblockSize + y, scene.height - 1), line.subarray(0, scene.width))
      line.fill(line[scene.width - 1] ?? 0, scene.width)
    }
  }
  const readMacroblock = (column: number, row: number) => {
    if (column === 0) paintRow(row)
    const samples: number[] = []
    for (const [component, step] of [1, 2, 2].entries()) {
      for (let y = 0; y < macroblockSize; y += step) {
        const start = y * stride + column * macroblockSize
        for (let x = 0; x < macroblockSize; x += step)
          samples.push(colors[indexes[start + x] ?? 0]?.[component] ?? 0)
      }
    }
    return Uint8Array.from(samples)
  }
  return { columns, rows: countMacroblocks(scene.height), readMacroblock }
}

/** BT.709 in the limited range. */
function toVideoColor([red, green, blue]: Color): Color {
  const luma = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255
  const blueDifference = (blue / 255 - luma) / 1.8556
  const redDifference = (red / 255 - luma) / 1.5748
  return [
    Math.round(16 + 219 * luma),
    Math.round(128 + 224 * blueDifference),
    Math.round(128 + 224 * redDifference),
  ]
}

function describeVideo(width: number, height: number, level: number): Buffer {
  const sequence = encodeSequence(width, height, level)
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

function buildSound(seconds: number): Track {
  const duration = Math.round(seconds * aacSampleRate)
  return {
    timescale: aacSampleRate,
    samples: Array<Buffer>(Math.ceil(duration / samplesPerAacFrame)).fill(silentAacFrame),
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
