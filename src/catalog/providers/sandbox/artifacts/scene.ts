import { crc32 } from 'node:zlib'
import { glyphHeight, glyphRowOf, glyphWidth } from './font.ts'
import { advance, layoutText, lineHeight } from './layout.ts'

/** Red, green and blue, 0 to 255. */
export type Color = readonly [number, number, number]

/** A drawing of words on a colored background, painted row by row. */
export interface Scene {
  width: number
  height: number
  palette: Color[]
  /** Colors of the palette from here on are the words; those before, the background. */
  firstInk: number
  /** Fills a row with indexes into the palette. */
  paintRow(y: number, row: Uint8Array): void
}

interface Disc {
  x: number
  y: number
  radius: number
}

/** Steps of the gradient from top to bottom; in the palette first as they are, then as seen through a disc. */
const gradientSteps = 64
const discLight = 0.14
const discCount = 3
/** The margin on each side, as a share of the width or height. */
const margin = 0.06
const white: Color = [255, 255, 255]

/** The same words and seed always give the same scene. */
export function composeScene(text: string, width: number, height: number, seed: number): Scene {
  const random = createRandom(crc32(text, seed >>> 0))
  const hue = random()
  const top = fromHue(hue, 0.42)
  const bottom = fromHue(hue + 0.1 + random() * 0.3, 0.22)
  const gradient = Array.from({ length: gradientSteps }, (_, step) => mix(top, bottom, step / gradientSteps))
  const discs = Array.from({ length: discCount }, () => ({
    x: random() * width,
    y: random() * height,
    radius: (0.15 + random() * 0.3) * Math.min(width, height),
  }))
  const firstInk = gradientSteps * 2
  const paintWords = createWordPainter(text, width, height, firstInk)
  return {
    width,
    height,
    palette: [...gradient, ...gradient.map((color) => mix(color, white, discLight)), white],
    firstInk,
    paintRow(y, row) {
      const step = Math.floor((y * gradientSteps) / height)
      row.fill(step)
      for (const disc of discs) paintDisc(disc, y, row, gradientSteps + step)
      paintWords(y, row)
    },
  }
}

function paintDisc({ x, y: centre, radius }: Disc, y: number, row: Uint8Array, index: number): void {
  const square = radius * radius - (y - centre) * (y - centre)
  if (square <= 0) return
  const half = Math.sqrt(square)
  row.fill(index, Math.max(0, Math.round(x - half)), Math.max(0, Math.round(x + half)))
}

/** The words in the middle of the picture, each line centred. */
function createWordPainter(
  text: string,
  width: number,
  height: number,
  ink: number,
): (y: number, row: Uint8Array) => void {
  const { lines, scale } = layoutText(text, width * (1 - 2 * margin), height * (1 - 2 * margin))
  const top = Math.floor((height - (lines.length * lineHeight - (lineHeight - glyphHeight)) * scale) / 2)
  return (y, row) => {
    const fontRow = Math.floor((y - top) / scale)
    const line = lines[Math.floor(fontRow / lineHeight)]
    const glyphRow = fontRow % lineHeight
    if (line === undefined || glyphRow < 0 || glyphRow >= glyphHeight) return
    const left = Math.floor((width - (line.length * advance - 1) * scale) / 2)
    for (let at = 0; at < line.length; at++) {
      paintGlyphRow(glyphRowOf(line[at] ?? ' ', glyphRow), row, left + at * advance * scale, scale, ink)
    }
  }
}

function paintGlyphRow(bits: number, row: Uint8Array, left: number, scale: number, ink: number): void {
  for (let column = 0; column < glyphWidth; column++) {
    if ((bits >> (glyphWidth - 1 - column)) & 1) {
      row.fill(ink, left + column * scale, left + (column + 1) * scale)
    }
  }
}

function mix(from: Color, to: Color, share: number): Color {
  const [red, green, blue] = from.map((value, index) =>
    Math.round(value + ((to[index] ?? 0) - value) * share),
  ) as [number, number, number]
  return [red, green, blue]
}

/** A saturated color; dark enough for white words. */
function fromHue(hue: number, lightness: number): Color {
  const channel = (offset: number) => {
    const distance = Math.abs(((((hue + offset) % 1) + 1) % 1) * 6 - 3) - 1
    return Math.round(255 * lightness * (0.35 + 0.65 * Math.min(1, Math.max(0, distance))))
  }
  return [channel(0), channel(2 / 3), channel(1 / 3)]
}

/** Mulberry32: numbers from 0 to 1. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
