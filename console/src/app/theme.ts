import {
  Anchor,
  type CSSVariablesResolver,
  createTheme,
  Menu,
  Modal,
  TableScrollContainer,
} from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  autoContrast: true,
  respectReducedMotion: true,
  components: {
    Anchor: Anchor.extend({ defaultProps: { inherit: true } }),
    // Screen readers would announce an element without a role among the items.
    Menu: Menu.extend({ defaultProps: { withInitialFocusPlaceholder: false } }),
    // Without it, a wide table without links cannot be scrolled with the keyboard.
    TableScrollContainer: TableScrollContainer.extend({
      defaultProps: { scrollAreaProps: { viewportProps: { tabIndex: 0 } } },
    }),
    // The title of a dialog is not the banner of the page.
    Modal: Modal.extend({ defaultProps: { attributes: { header: { role: 'presentation' } } } }),
  },
})

/** Darker shades of colors whose darkest shade is too pale. */
const darkest: Record<string, string> = { orange: '#a5360b', yellow: '#8a4b00' }

/** Some colors of the library are too pale to read: secondary text, badges, colored text, links, outlined buttons. */
export const cssVariables: CSSVariablesResolver = ({ colors }) => {
  const light: Record<string, string> = {
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-anchor': colors.indigo[8],
  }
  const dark: Record<string, string> = {
    '--mantine-color-dimmed': colors.dark[1],
    '--mantine-color-anchor': colors.indigo[3],
  }
  for (const [name, shades] of Object.entries(colors)) {
    light[`--mantine-color-${name}-light`] = shades[0]
    const text = darkest[name] ?? shades[9]
    light[`--mantine-color-${name}-light-color`] = text
    light[`--mantine-color-${name}-text`] = text
    light[`--mantine-color-${name}-outline`] = text
    dark[`--mantine-color-${name}-text`] = shades[4]
  }
  return { variables: {}, light, dark }
}
