import { Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { ActionButton } from '../../components/action-button.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { Pager } from '../../components/pager.tsx'
import { Panel } from '../../components/panel.tsx'

export const assignmentPageSize = 20

interface AssignmentListProps {
  title: string
  description: string
  items: { id: string; name: string }[]
  offset: number
  total: number
  onPage: (offset: number) => void
  /** Removes an assignment; absent if the list cannot be changed. */
  onRemove?: (id: string) => Promise<void>
  renderDialog: (onClose: () => void) => ReactNode
}

/** Lists the keys or members that a guardrail is assigned to. */
export function AssignmentList(props: AssignmentListProps) {
  const { title, description, items, offset, total, onPage, onRemove, renderDialog } = props
  return (
    <Panel
      title={title}
      description={description}
      actions={
        onRemove && (
          <DialogButton label="Assign" variant="default">
            {renderDialog}
          </DialogButton>
        )
      }
    >
      <Stack gap="xs">
        {items.length === 0 && <Text size="sm">None.</Text>}
        {items.map(({ id, name }) => (
          <Group key={id} gap="sm" justify="space-between">
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Text>
            {onRemove && (
              <ActionButton label={`Remove ${name}`} onAction={() => onRemove(id)}>
                Remove
              </ActionButton>
            )}
          </Group>
        ))}
        <Pager offset={offset} size={assignmentPageSize} total={total} onChange={onPage} />
      </Stack>
    </Panel>
  )
}
