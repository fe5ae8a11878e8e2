import { expect, test } from 'bun:test'
import { pageFont, pageStyle } from './page-style.ts'

test('the pages load the font file that the console is built with', async () => {
  const { dependencies } = await Bun.file('console/package.json').json()
  expect(dependencies['@fontsource-variable/inter']).toBe(pageFont.version)
  expect(pageFont.path).toBe(`assets/inter-${pageFont.version}-latin.woff2`)
})

test('the colors of the pages are those of the console', async () => {
  const tokens = (await Bun.file('console/src/theme/tokens.ts').text()).toLowerCase()
  const colors = [...pageStyle.matchAll(/--(?!problem-soft)[\w-]+:(#[0-9a-f]{6})/g)].map(([, color]) => color)
  expect(colors.length).toBeGreaterThan(15)
  expect(colors.filter((color) => !tokens.includes(color ?? ''))).toEqual([])
})
