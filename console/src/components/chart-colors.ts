import { type MantineTheme, useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { useMemo } from 'react'
import type { ChartSeries } from './chart-data.ts'

const palette = ['indigo', 'teal', 'orange', 'grape', 'cyan', 'pink', 'lime', 'yellow'] as const

/** The color of each series, by its place; with one highlighted, the others are pale. */
export function useSeriesColors(series: readonly ChartSeries[], highlighted: number | null = null): string[] {
  const theme = useMantineTheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  return useMemo(
    () =>
      series.map((one, position) =>
        highlighted === null || highlighted === position || one.isDashed
          ? colorOf(one, position, { theme, isDark })
          : theme.colors[isDark ? 'dark' : 'gray'][isDark ? 4 : 2],
      ),
    [series, highlighted, theme, isDark],
  )
}

interface Look {
  theme: MantineTheme
  isDark: boolean
}

function colorOf({ isDashed, isRest }: ChartSeries, position: number, { theme, isDark }: Look): string {
  const { colors } = theme
  const shade = isDark ? 5 : 6
  if (isDashed) return isDark ? colors.gray[4] : colors.gray[7]
  if (isRest) return colors.gray[shade]
  return colors[palette[position % palette.length] ?? 'indigo'][shade]
}
