import { Button, Stack, Text, VisuallyHidden } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { nameOfKey } from './byok-fields.ts'
import { ByokForm } from './byok-form.tsx'
import { ByokRow } from './byok-row.tsx'
import { moveEntry } from './move.ts'
import { type ByokKey, byokHealthOptions, byokOptions } from './queries.ts'

interface ByokPanelProps {
  provider: string
  name: string
}

/** The keys of the workspace for the provider, in the order they are tried. */
export function ByokPanel({ provider, name }: ByokPanelProps) {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const query = useQuery(byokOptions(workspaceId, provider))
  const [isAdding, setAdding] = useState(false)
  return (
    <Panel
      title="Your keys"
      description={`Requests of this workspace use your account at ${name}, the first key first.`}
      actions={
        mayDo(session, 'byok:write') && (
          <Button size="xs" onClick={() => setAdding(true)}>
            Add a key
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm" c="dimmed">
              None yet. With a BYOK key, {name} bills your account, and Headgate charges only its fee.
            </Text>
          ) : (
            <KeyList provider={provider} keys={data} />
          )
        }
      </QueryView>
      {isAdding && <ByokForm provider={provider} onClose={() => setAdding(false)} />}
    </Panel>
  )
}

/** Rows can be dragged, and moved with buttons for the keyboard and on a phone. */
function KeyList({ provider, keys }: { provider: string; keys: ByokKey[] }) {
  const { id: workspaceId } = useWorkspace()
  const queryClient = useQueryClient()
  const canWrite = mayDo(useSession(), 'byok:write')
  const health = useQuery(byokHealthOptions(workspaceId, provider))
  const [dragged, setDragged] = useState<number | null>(null)
  const [message, setMessage] = useState('')
  const order = api.useMutation('put', '/byok/order', {
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['get', '/byok'] }),
  })
  const canMove = canWrite && keys.length > 1 && !order.isPending
  const move = (from: number, to: number) => {
    setDragged(null)
    const moved = keys[from]
    if (!moved || from === to || to < 0 || to >= keys.length) return
    setMessage(`${nameOfKey(moved)} is tried as number ${to + 1} of ${keys.length}.`)
    const ids = moveEntry(keys, from, to).map(({ id }) => id)
    order.mutate({
      body: { provider, ids, ...(moved.workspace_id !== null && { workspace_id: moved.workspace_id }) },
    })
  }
  return (
    <Stack gap="xs">
      <Stack component="ol" gap="xs" m={0} p={0} style={{ listStyle: 'none' }}>
        {keys.map((key, index) => (
          <ByokRow
            key={key.id}
            byokKey={key}
            position={index + 1}
            count={keys.length}
            health={health.data?.data.find(({ id }) => id === key.id)}
            canMove={canMove}
            canWrite={canWrite}
            isDragged={dragged === index}
            onDragStart={() => setDragged(index)}
            onDrop={() => dragged !== null && move(dragged, index)}
            onMove={(step) => move(index, index + step)}
          />
        ))}
      </Stack>
      {order.error !== null && <ErrorNotice error={order.error} />}
      <VisuallyHidden role="status">{message}</VisuallyHidden>
    </Stack>
  )
}
