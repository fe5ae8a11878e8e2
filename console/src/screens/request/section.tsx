import { Paper, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" style={{ minWidth: 0 }}>
      <Title order={2} size="h4" pb="sm">
        {title}
      </Title>
      {children}
    </Paper>
  )
}

export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div style={{ minWidth: 0 }}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </div>
  )
}
