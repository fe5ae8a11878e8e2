import { describe, expect, test } from 'bun:test'
import {
  codeColors,
  densities,
  fontSizes,
  motionMs,
  schemes,
  spacing,
  type Tone,
  toneColors,
} from './tokens.ts'

/** Relative luminance as WCAG 2.2 defines it. */
function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrastOf(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

const textMinimum = 4.5
const controlMinimum = 3
const tones: Tone[] = ['brand', 'gray', 'success', 'warning', 'danger']

test('the contrast of known pairs is that of the examples of WCAG', () => {
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrastOf('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
})

describe.each(['light', 'dark'] as const)('in the %s scheme', (scheme) => {
  const colors = schemes[scheme]

  test.each(['text', 'dimmed', 'link'] as const)('%s can be read on every background', (name) => {
    for (const background of [colors.page, colors.surface])
      expect(contrastOf(colors[name], background)).toBeGreaterThanOrEqual(textMinimum)
  })

  test('primary buttons and choices can be read', () => {
    for (const background of [colors.soft, colors.selected])
      expect(contrastOf(colors.text, background)).toBeGreaterThanOrEqual(textMinimum)
    expect(contrastOf(colors.onFilled, colors.filled)).toBeGreaterThanOrEqual(textMinimum)
  })

  test.each(['controlBorder', 'focusRing'] as const)('%s is seen on every background', (name) => {
    for (const background of [colors.page, colors.surface])
      expect(contrastOf(colors[name], background)).toBeGreaterThanOrEqual(controlMinimum)
  })

  test('every word of code can be read', () => {
    const { background, ...words } = codeColors(scheme)
    for (const color of [colors.text, ...Object.values(words)])
      expect(contrastOf(color, background)).toBeGreaterThanOrEqual(textMinimum)
  })

  test.each(tones)('%s can be read in badges and on cards, and its marks are seen', (tone) => {
    const { text, soft, mark } = toneColors(tone, scheme)
    for (const background of [soft, colors.page, colors.surface])
      expect(contrastOf(text, background)).toBeGreaterThanOrEqual(textMinimum)
    expect(contrastOf(mark, colors.surface)).toBeGreaterThanOrEqual(controlMinimum)
  })
})

test('a denser table has smaller controls, which still can be hit', () => {
  const { compact, standard, comfortable } = densities
  const pixels = (size: string) => Number.parseFloat(size) * 16
  for (const [smaller, larger] of [
    [compact, standard],
    [standard, comfortable],
  ] as const) {
    expect(smaller.rowHeight).toBeLessThan(larger.rowHeight)
    expect(smaller.rowSpacing).toBeLessThan(larger.rowSpacing)
    expect(pixels(smaller.controlXs)).toBeLessThan(pixels(larger.controlXs))
    expect(pixels(smaller.controlSm)).toBeLessThan(pixels(larger.controlSm))
  }
  // The minimum target of WCAG 2.2.
  expect(pixels(compact.controlXs)).toBeGreaterThanOrEqual(24)
})

test('spacing is on a grid of four pixels, sizes of text differ, and motion is short', () => {
  const pixels = (sizes: Record<string, string>) =>
    Object.values(sizes).map((size) => Number.parseFloat(size) * 16)
  expect(pixels(spacing).filter((size) => size % 4 !== 0)).toEqual([])
  expect(new Set(pixels(fontSizes)).size).toBe(5)
  expect(motionMs).toBeLessThan(150)
})
