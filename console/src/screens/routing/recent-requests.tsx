import { Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { useWorkspace } from '../../app/workspace.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { repeatOf } from '../../components/repeat-request.ts'
import { Time } from '../../components/time.tsx'
import { readRequest, type SavedRequest } from './request-set.ts'

type Logged = Schemas['LoggedRequest']

/** A look at the newest ones; the log itself finds the others. */
const listed = 20

interface RecentRequestsProps {
  onAdd: (request: SavedRequest) => void
  onClose: () => void
}

/** Adds requests of the log whose prompts are stored. */
export function RecentRequests({ onAdd, onClose }: RecentRequestsProps) {
  const { id: workspaceId } = useWorkspace()
  const [added, setAdded] = useState<string[]>([])
  const query = useQuery(
    api.queryOptions('get', '/generations', {
      params: { query: { limit: listed, ...(workspaceId !== null && { workspace_id: workspaceId }) } },
    }),
  )
  const add = async (logged: Logged) => {
    onAdd(await loadRequest(logged))
    setAdded([...added, logged.id])
  }
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title="Add from the log"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm">
          The newest {listed} requests. Only those whose prompt is stored can be added, and the audit log
          records that you have read it. Tools and other parameters are not stored.
        </Text>
        <QueryView query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Text size="sm">There are no requests yet.</Text>
            ) : (
              <DataTable
                rows={data}
                keyOf={({ id }) => id}
                minWidth={280}
                columns={[
                  { header: 'Time', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
                  {
                    header: 'Model',
                    breaksWords: true,
                    render: ({ requested_model, model }) => requested_model ?? model ?? '–',
                  },
                  {
                    header: 'Add',
                    isHeaderHidden: true,
                    render: (logged) => (
                      <ActionButton
                        label={`${added.includes(logged.id) ? 'Added' : 'Add'}: ${logged.id}`}
                        disabled={added.includes(logged.id)}
                        onAction={() => add(logged)}
                      >
                        {added.includes(logged.id) ? 'Added' : 'Add'}
                      </ActionButton>
                    ),
                  },
                ]}
              />
            )
          }
        </QueryView>
      </Stack>
    </Modal>
  )
}

async function loadRequest(logged: Logged): Promise<SavedRequest> {
  const { format, requested_model, model, id } = logged
  const content = await loadContent(id)
  if (content.truncated) throw new Error('The prompt was too long to be stored completely.')
  const repeat = repeatOf(format, requested_model ?? model, content.input)
  if (!repeat) throw new Error(`Requests in the format ${format ?? 'unknown'} cannot be added.`)
  const read = readRequest({
    name: `${requested_model ?? model}, ${id.slice(-6)}`,
    format,
    body: repeat.body,
  })
  if (typeof read === 'string') throw new Error(read)
  return read
}

async function loadContent(id: string): Promise<Schemas['GenerationContent']> {
  try {
    const { data } = await client.GET('/generation/content', { params: { query: { id } } })
    if (!data) throw new Error('The server sent no content.')
    return data.data
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
    throw new Error('The prompt was not stored. Content logging is a setting of the workspace.')
  }
}
