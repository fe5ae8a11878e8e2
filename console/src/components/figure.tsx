import { Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'

interface FigureProps {
  label: string
  color?: string | undefined
  children: ReactNode
}

/** A number that matters, with what it is. */
export function Figure({ label, color, children }: FigureProps) {
  return (
    <Paper withBorder p="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fw={600} size="xl" {...(color && { c: color })}>
        {children}
      </Text>
    </Paper>
  )
}
