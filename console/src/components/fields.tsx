import { Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** Names and values, one below the other. */
export function Fields({ fields }: { fields: [name: string, value: ReactNode][] }) {
  return (
    <Stack component="dl" gap={6} m={0}>
      {fields.map(([name, value]) => (
        <Group key={name} gap="xs" align="baseline">
          <Text component="dt" size="sm" c="dimmed" w={150}>
            {name}
          </Text>
          <Text component="dd" size="sm" m={0} style={{ flex: '1 1 200px', overflowWrap: 'anywhere' }}>
            {value}
          </Text>
        </Group>
      ))}
    </Stack>
  )
}
