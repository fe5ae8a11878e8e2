import { Group, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { ManagedBadge } from './managed.tsx'

/** A list of records that have too much to say for a table. */
export function ItemList({ children }: { children: ReactNode }) {
  return (
    <Stack component="ul" gap={0} p={0} m={0} style={{ listStyle: 'none' }}>
      {children}
    </Stack>
  )
}

interface ItemProps {
  children: ReactNode
  /** The record of the API, if configuration files may declare it. */
  record?: object
  /** Actions on the record: beside it, or below it on a phone. */
  actions?: ReactNode
}

export function Item({ children, record, actions }: ItemProps) {
  return (
    <Group
      component="li"
      justify="space-between"
      gap="sm"
      py="sm"
      style={{ borderTop: '1px solid var(--mantine-color-default-border)' }}
    >
      <div style={{ flex: '1 1 260px', minWidth: 0, overflowWrap: 'anywhere' }}>
        {children}
        <ManagedBadge record={record} />
      </div>
      {actions}
    </Group>
  )
}
