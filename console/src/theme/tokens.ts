/** Ten shades of a color, from the palest to the darkest. */
export type Shades = readonly [string, string, string, string, string, string, string, string, string, string]

/** The color of links, primary buttons and whatever is selected. */
const brand: Shades = [
  '#eef4ff',
  '#dbe7fe',
  '#bdd3fd',
  '#93b6fb',
  '#6391f6',
  '#3f70ef',
  '#2a56db',
  '#2145b8',
  '#1f3b94',
  '#1d3475',
]

/** Neutral colors of the light scheme. */
const gray: Shades = [
  '#f7f8fa',
  '#f0f2f5',
  '#e4e7ec',
  '#d3d8e0',
  '#b3bac7',
  '#858fa1',
  '#667085',
  '#4b5567',
  '#333c4c',
  '#1b2230',
]

/** Neutral colors of the dark scheme, from the text to the background. */
const dark: Shades = [
  '#dde1e8',
  '#a8b0be',
  '#8b94a5',
  '#6b7588',
  '#353d4b',
  '#2a313d',
  '#1f252f',
  '#161b23',
  '#10141a',
  '#0a0d12',
]

const success: Shades = [
  '#e8f8f1',
  '#cdefdf',
  '#9edfc2',
  '#68c9a0',
  '#3bb283',
  '#1f9a6c',
  '#138057',
  '#0f6848',
  '#0d543b',
  '#0b4531',
]

const warning: Shades = [
  '#fff6e5',
  '#fdeac4',
  '#fad58d',
  '#f4b94f',
  '#e89f20',
  '#cc8106',
  '#a86404',
  '#884c07',
  '#713e0b',
  '#5e340d',
]

const danger: Shades = [
  '#fef0f0',
  '#fddfdf',
  '#fac1c1',
  '#f59a9a',
  '#ef7070',
  '#e04848',
  '#c62f32',
  '#a52327',
  '#871f23',
  '#701d21',
]

export const palette = { brand, gray, dark, success, warning, danger }

/** A semantic color, which components name instead of a hue. */
export type Tone = 'brand' | 'gray' | 'success' | 'warning' | 'danger'

interface SchemeColors {
  /** The background of the page. */
  page: string
  /** The background of cards, menus and dialogs. */
  surface: string
  text: string
  /** Secondary text. */
  dimmed: string
  link: string
  /** Borders of cards and tables, which separate but mean nothing. */
  divider: string
  /** Borders of fields, which show where the control is. */
  controlBorder: string
  /** Borders of secondary buttons, whose text shows where they are. */
  buttonBorder: string
  /** The background of a choice between a few values, and of the chosen one. */
  soft: string
  selected: string
  focusRing: string
  /** Background and text of a primary button. */
  filled: string
  onFilled: string
}

/** Every pair of text and background of a scheme has the contrast that WCAG AA requires: tokens.test.ts. */
export const schemes: Record<'light' | 'dark', SchemeColors> = {
  light: {
    page: gray[0],
    surface: '#ffffff',
    text: gray[9],
    dimmed: gray[7],
    link: brand[7],
    divider: gray[2],
    controlBorder: gray[5],
    buttonBorder: gray[3],
    soft: gray[2],
    selected: '#ffffff',
    focusRing: brand[5],
    filled: brand[6],
    onFilled: '#ffffff',
  },
  dark: {
    page: dark[8],
    surface: dark[7],
    text: dark[0],
    dimmed: dark[1],
    link: brand[3],
    divider: dark[5],
    controlBorder: dark[3],
    buttonBorder: dark[4],
    soft: dark[6],
    selected: dark[4],
    focusRing: brand[4],
    filled: brand[6],
    onFilled: '#ffffff',
  },
}

interface ToneColors {
  /** The background of badges and notices. */
  soft: string
  /** Text on the soft background, and on a surface. */
  text: string
  /** Dots, bars and lines. */
  mark: string
}

/** The colors of a tone in a scheme. */
export function toneColors(tone: Tone, scheme: 'light' | 'dark'): ToneColors {
  const shades = palette[tone]
  return scheme === 'light'
    ? { soft: shades[tone === 'gray' ? 2 : 0], text: shades[8], mark: shades[tone === 'warning' ? 6 : 5] }
    : { soft: mix(shades[5], dark[7], 0.18), text: shades[3], mark: shades[4] }
}

/** The background of code, and the colors of its words. */
export function codeColors(scheme: 'light' | 'dark') {
  return {
    background: scheme === 'light' ? gray[0] : dark[6],
    keyword: toneColors('brand', scheme).text,
    string: toneColors('success', scheme).text,
    number: toneColors('warning', scheme).text,
    comment: schemes[scheme].dimmed,
    name: schemes[scheme].link,
  }
}

/** A share of one color over another, both as `#rrggbb`. */
function mix(over: string, under: string, share: number): string {
  const channels = (color: string) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
  const base = channels(under)
  const mixed = channels(over).map((value, i) => Math.round(value * share + (base[i] ?? 0) * (1 - share)))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

const rem = (pixels: number) => `${pixels / 16}rem`

/** Sizes of text in steps of a clear difference; the middle one is that of most text. */
export const fontSizes = { xs: rem(12), sm: rem(13), md: rem(14), lg: rem(16), xl: rem(20) }

export const lineHeights = { xs: '1.35', sm: '1.45', md: '1.5', lg: '1.5', xl: '1.4' }

/** Multiples of eight, with one half step. */
export const spacing = { xs: rem(8), sm: rem(12), md: rem(16), lg: rem(24), xl: rem(32) }

/** How close together rows and controls are. `rowHeight` is in pixels, for rows that are placed by a script. */
export const densities = {
  compact: { rowHeight: 30, rowSpacing: 0.5, controlXs: rem(26), controlSm: rem(30) },
  standard: { rowHeight: 40, rowSpacing: 1, controlXs: rem(30), controlSm: rem(36) },
  comfortable: { rowHeight: 52, rowSpacing: 1.75, controlXs: rem(36), controlSm: rem(44) },
}

export type Density = keyof typeof densities

export const radius = { xs: rem(4), sm: rem(6), md: rem(8), lg: rem(12), xl: rem(16) }

export const fontFamily =
  "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"

/** Longest transition. Visitors who ask for less motion see none. */
export const motionMs = 120
