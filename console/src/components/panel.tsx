import { Group, Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

interface PanelProps {
  title: string
  description?: ReactNode
  actions?: ReactNode
  children?: ReactNode
}

/** A part of a screen, with a heading. */
export function Panel({ title, description, actions, children }: PanelProps) {
  return (
    <Paper component="section" withBorder p="md" miw={0} aria-label={title}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" gap="xs">
          <div style={{ flex: '1 1 220px', minWidth: 0 }}>
            <Title order={2} size="h4">
              {title}
            </Title>
            {description && (
              <Text c="dimmed" size="sm" maw={640} component="div">
                {description}
              </Text>
            )}
          </div>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
        {children}
      </Stack>
    </Paper>
  )
}
