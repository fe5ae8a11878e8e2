import { Button, Group, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf, urlOf } from '../../api/call.ts'
import { client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { CursorList } from '../../components/cursor-list.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { TextField } from '../../components/text-field.tsx'
import { Time } from '../../components/time.tsx'
import { formatBytes } from '../../format/number.ts'
import { MediaTabs } from './media-tabs.tsx'

export const screen = createLazyRoute('/files/containers')({ component: ContainersScreen })

type ContainerFile = Schemas['ContainerFile']

const idPattern = /^[\w-]{1,40}$/
const pageSize = 100

function ContainersScreen() {
  const { id = '' } = screen.useSearch()
  const navigate = screen.useNavigate()
  const { id: workspaceId } = useWorkspace()
  const [typed, setTyped] = useState(id)
  const { list, call } = useContainerFiles(id, workspaceId)
  return (
    <Page
      title="Containers"
      docs="containers"
      scope="one"
      description="Models run shell commands in containers. Files are kept for 30 days after the last command."
      calls={id ? [call] : []}
    >
      <MediaTabs current="/files/containers" />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (idPattern.test(typed)) void navigate({ search: { id: typed } })
        }}
      >
        <Group align="flex-end">
          <TextField
            label="Container ID"
            description="Named in tool results: sess_… or gen_…"
            error={
              typed !== '' && !idPattern.test(typed) && '1 to 40 letters, digits, hyphens and underscores'
            }
            value={typed}
            onChange={setTyped}
          />
          <Button type="submit" disabled={!idPattern.test(typed)}>
            Show its files
          </Button>
        </Group>
      </form>
      {id === '' ? (
        <EmptyState title="Choose a container">
          Models run shell commands in containers. The ID of a container is in the result of the tool.
        </EmptyState>
      ) : (
        <CursorList
          query={list}
          more="Show more files"
          empty={<Text size="sm">The container has no files.</Text>}
        >
          {(files) => <ContainerFiles files={files} workspaceId={workspaceId} />}
        </CursorList>
      )}
    </Page>
  )
}

function useContainerFiles(id: string, workspaceId: string | null) {
  const query = { limit: pageSize, ...(workspaceId !== null && { workspace_id: workspaceId }) }
  const path = { container_id: id }
  const queryKey = ['get', '/containers/{container_id}/files', { params: { path, query } }]
  const list = useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      const params = { path, query: { ...query, ...(pageParam !== null && { after: pageParam }) } }
      const { data } = await client.GET('/containers/{container_id}/files', { params, signal })
      if (!data) throw new Error('The server sent no files.')
      return data
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more, last_id }) => (has_more ? last_id : null),
    enabled: id !== '',
  })
  return { list, call: callOf({ queryKey }) }
}

interface ContainerFilesProps {
  files: ContainerFile[]
  workspaceId: string | null
}

function ContainerFiles({ files, workspaceId }: ContainerFilesProps) {
  return (
    <DataTable
      rows={files}
      keyOf={({ id }) => id}
      minWidth={320}
      columns={[
        { header: 'Path', breaksWords: true, render: ({ path }) => path },
        { header: 'Size', isNumber: true, render: ({ bytes }) => formatBytes(bytes) },
        {
          header: 'Changed',
          visibleFrom: 'sm',
          render: ({ created_at }) => <Time iso={new Date(created_at * 1000).toISOString()} style="age" />,
        },
        {
          header: 'Actions',
          isHeaderHidden: true,
          render: (file) => <ContainerFileActions file={file} workspaceId={workspaceId} />,
        },
      ]}
    />
  )
}

function ContainerFileActions({ file, workspaceId }: { file: ContainerFile; workspaceId: string | null }) {
  const session = useSession()
  const refresh = useRefresh()
  const { id, container_id, path } = file
  const base = `/containers/${encodeURIComponent(container_id)}/files/${encodeURIComponent(id)}`
  const promote = async () => {
    await client.POST('/containers/{container_id}/files/{file_id}/promote', {
      params: {
        path: { container_id, file_id: id },
        query: workspaceId === null ? {} : { workspace_id: workspaceId },
      },
    })
    await refresh('/files')
  }
  return (
    <Group gap="xs" justify="flex-end">
      <Button
        size="xs"
        variant="default"
        component="a"
        download
        aria-label={`Download ${path}`}
        href={urlOf({ method: 'GET', path: `${base}/content`, query: { workspace_id: workspaceId } })}
      >
        Download
      </Button>
      {mayDo(session, 'files:write') && (
        <ActionButton label={`Copy to files: ${path}`} onAction={promote}>
          Copy to files
        </ActionButton>
      )}
    </Group>
  )
}
