import { Box } from '@mantine/core'
import type { ReactNode } from 'react'

interface SmallChartProps {
  label: string
  width: number
  height: number
  /** SVG elements. */
  children: ReactNode
}

/** The frame of a chart that fits into a row. */
export function SmallChart({ label, width, height, children }: SmallChartProps) {
  return (
    <Box
      component="svg"
      viewBox={`0 0 ${width} ${height}`}
      w={width}
      h={height}
      role="img"
      aria-label={label}
      display="block"
    >
      {children}
    </Box>
  )
}
