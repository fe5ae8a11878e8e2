import { expect, test } from 'bun:test'
import type { VideoCapabilities } from '../../catalog/model.ts'
import { completeVideoCall, listVideoUnits, resolutionOf, sizeOf, type VideoCall } from './video.ts'

const call: VideoCall = {
  prompt: 'A fox',
  duration: null,
  resolution: null,
  aspectRatio: null,
  size: null,
  audio: null,
  seed: null,
  creativity: null,
  upscaleFactor: null,
  firstFrame: null,
  lastFrame: null,
  references: [],
  previous: null,
}
const video: VideoCapabilities = {
  supported_durations: [4, 8],
  supported_resolutions: ['720p', '1080p'],
  supported_aspect_ratios: ['16:9', '9:16'],
  generate_audio: true,
  allowed_passthrough_parameters: [],
}

test.each([
  ['720p', '16:9', 1280, 720],
  ['720p', '9:16', 720, 1280],
  ['1080p', '1:1', 1080, 1080],
  ['480p', '4:3', 640, 480],
  ['4K', '16:9', 3840, 2160],
] as const)('%s at %s is %d x %d', (resolution, ratio, width, height) => {
  expect(sizeOf(resolution, ratio)).toEqual({ width, height })
  expect(resolutionOf({ width, height })).toBe(resolution)
})

test('what the client leaves open is the first choice of the endpoint', () => {
  expect(completeVideoCall(call, video)).toMatchObject({
    duration: 4,
    resolution: '720p',
    aspectRatio: '16:9',
    size: '1280x720',
    audio: true,
  })
})

test('a size determines the resolution and the aspect ratio', () => {
  expect(completeVideoCall({ ...call, size: '1080x1920' }, video)).toMatchObject({
    resolution: '1080p',
    aspectRatio: '9:16',
    size: '1080x1920',
  })
  expect(completeVideoCall(call, null)).toEqual(call)
})

test('units have the most specific name first, and a bound of tokens', () => {
  const units = listVideoUnits({ resolution: '720p', size: '1280x720', audio: true }, 4)
  expect(units.map(({ unit, quantity }) => [unit, quantity])).toEqual([
    ['second', 4000],
    ['video', 1],
    ['token', 108_000],
  ])
  expect(units[0]?.variants).toEqual(['720p_with_audio', '720p', 'with_audio'])
  const counted = listVideoUnits({ resolution: null, size: null, audio: null }, 1.5, { videos: 2, tokens: 7 })
  expect(counted.map(({ quantity, variants }) => [quantity, variants])).toEqual([
    [1500, []],
    [2, []],
    [7, []],
  ])
})
