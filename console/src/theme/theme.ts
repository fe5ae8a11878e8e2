import {
  Anchor,
  type CSSVariablesResolver,
  createTheme,
  HoverCard,
  type MantineColorsTuple,
  Menu,
  Modal,
  Popover,
  TableScrollContainer,
  Tooltip,
} from '@mantine/core'
import {
  codeColors,
  type Density,
  densities,
  fontFamily,
  fontSizes,
  lineHeights,
  motionMs,
  palette,
  radius,
  type Shades,
  schemes,
  spacing,
  type Tone,
  toneColors,
} from './tokens.ts'

const tuple = (shades: Shades): MantineColorsTuple => [...shades]
const transitionProps = { duration: motionMs }

export const theme = createTheme({
  colors: {
    brand: tuple(palette.brand),
    gray: tuple(palette.gray),
    dark: tuple(palette.dark),
    success: tuple(palette.success),
    warning: tuple(palette.warning),
    danger: tuple(palette.danger),
    // The names that screens used before there were tones.
    indigo: tuple(palette.brand),
    teal: tuple(palette.success),
    orange: tuple(palette.warning),
    red: tuple(palette.danger),
    blue: tuple(palette.brand),
  },
  primaryColor: 'brand',
  primaryShade: 6,
  black: palette.gray[9],
  fontFamily,
  fontSizes,
  lineHeights,
  spacing,
  radius,
  defaultRadius: 'sm',
  headings: {
    fontFamily,
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.5rem', lineHeight: '1.3' },
      h2: { fontSize: '1.25rem', lineHeight: '1.35' },
      h3: { fontSize: '1rem', lineHeight: '1.4' },
      h4: { fontSize: '0.875rem', lineHeight: '1.45' },
    },
  },
  cursorType: 'pointer',
  autoContrast: true,
  respectReducedMotion: true,
  components: {
    Anchor: Anchor.extend({ defaultProps: { inherit: true } }),
    HoverCard: HoverCard.extend({ defaultProps: { transitionProps } }),
    // Screen readers would announce an element without a role among the items.
    Menu: Menu.extend({ defaultProps: { withInitialFocusPlaceholder: false, transitionProps } }),
    Popover: Popover.extend({ defaultProps: { transitionProps } }),
    Tooltip: Tooltip.extend({ defaultProps: { transitionProps } }),
    // Without it, a wide table without links cannot be scrolled with the keyboard.
    TableScrollContainer: TableScrollContainer.extend({
      defaultProps: { scrollAreaProps: { viewportProps: { tabIndex: 0 }, offsetScrollbars: 'present' } },
    }),
    // The title of a dialog is not the banner of the page.
    Modal: Modal.extend({
      defaultProps: { attributes: { header: { role: 'presentation' } }, radius: 'lg', transitionProps },
    }),
  },
})

/** Which tone colors this name of the library has; the other names keep the library's, made darker to be read. */
const toneOf: Record<string, Tone> = {
  brand: 'brand',
  blue: 'brand',
  indigo: 'brand',
  gray: 'gray',
  success: 'success',
  teal: 'success',
  warning: 'warning',
  orange: 'warning',
  yellow: 'warning',
  danger: 'danger',
  red: 'danger',
}

/** Some colors of the library are too pale to read: secondary text, badges, colored text, links, outlined buttons. */
export const cssVariables =
  (density: Density): CSSVariablesResolver =>
  ({ colors }) => {
    const light = schemeVariables('light')
    const dark = schemeVariables('dark')
    for (const [name, shades] of Object.entries(colors)) {
      const tone = toneOf[name]
      const text = tone ? toneColors(tone, 'light').text : shades[9]
      light[`--mantine-color-${name}-light`] = tone ? toneColors(tone, 'light').soft : shades[0]
      light[`--mantine-color-${name}-light-color`] = text
      light[`--mantine-color-${name}-text`] = text
      light[`--mantine-color-${name}-outline`] = text
      dark[`--mantine-color-${name}-text`] = tone ? toneColors(tone, 'dark').text : shades[4]
      if (!tone) continue
      const colors = toneColors(tone, 'dark')
      dark[`--mantine-color-${name}-light`] = colors.soft
      dark[`--mantine-color-${name}-light-color`] = colors.text
      dark[`--mantine-color-${name}-outline`] = colors.text
    }
    return { variables: densityVariables(density), light, dark }
  }

function densityVariables(density: Density): Record<string, string> {
  const { rowSpacing, controlXs, controlSm } = densities[density]
  return {
    '--headgate-row-spacing': String(rowSpacing),
    '--headgate-control-xs': controlXs,
    '--headgate-control-sm': controlSm,
  }
}

function schemeVariables(scheme: 'light' | 'dark'): Record<string, string> {
  const colors = schemes[scheme]
  const code = codeColors(scheme)
  return {
    '--code-bg': code.background,
    '--headgate-code-keyword': code.keyword,
    '--headgate-code-string': code.string,
    '--headgate-code-number': code.number,
    '--headgate-code-comment': code.comment,
    '--headgate-code-name': code.name,
    '--mantine-color-body': colors.surface,
    '--mantine-color-text': colors.text,
    '--mantine-color-dimmed': colors.dimmed,
    '--mantine-color-anchor': colors.link,
    '--mantine-color-default-border': colors.divider,
    '--headgate-control-border': colors.controlBorder,
    '--headgate-page': colors.page,
    '--headgate-surface': colors.surface,
    '--headgate-divider': colors.divider,
    '--headgate-button-border': colors.buttonBorder,
    '--headgate-soft': colors.soft,
    '--headgate-selected': colors.selected,
    '--headgate-focus': colors.focusRing,
  }
}
