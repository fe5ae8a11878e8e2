import { Button, Group, Select, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { CursorList } from '../../components/cursor-list.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { formatBytes } from '../../format/number.ts'
import { FilePreview } from './file-preview.tsx'
import { fileUrl } from './file-url.ts'
import { MediaTabs } from './media-tabs.tsx'
import { isPurpose, type Purpose, purposes } from './purposes.ts'
import { ShortId } from './short-id.tsx'
import { previewOf, type StoredFile, toStoredFile } from './stored-file.ts'
import { UploadDialog } from './upload-dialog.tsx'

export const screen = createLazyRoute('/files')({ component: FilesScreen })

const pageSize = 50

function FilesScreen() {
  const session = useSession()
  const { id: workspaceId, current: workspace } = useWorkspace()
  const { purpose, id } = screen.useSearch()
  const navigate = screen.useNavigate()
  const { list, call } = useFiles(workspaceId, { purpose, id })
  return (
    <Page
      title="Files"
      docs="files"
      scope="one"
      description={`Files that prompts can refer to by ID${workspace ? `, in the workspace ${workspace.name}` : ''}. They do not expire.`}
      calls={[call]}
      actions={
        mayDo(session, 'files:write') && (
          <DialogButton label="Upload" action="upload">
            {(close) => <UploadDialog onClose={close} />}
          </DialogButton>
        )
      }
    >
      <MediaTabs current="/files" />
      {id === undefined ? (
        <Select
          label="Purpose"
          placeholder="Any"
          clearable
          maw={240}
          data={[...purposes]}
          value={purpose ?? null}
          onChange={(value) => void navigate({ search: isPurpose(value) ? { purpose: value } : {} })}
        />
      ) : (
        <Text size="sm">
          Only the file with this ID. <TextLink to="/files">Show all</TextLink>
        </Text>
      )}
      <CursorList
        query={list}
        more="Show older files"
        empty={
          <EmptyState title="No files yet">
            Files appear here once you upload one, or once an application does with <code>POST /files</code>.
            Prompts for any provider can then refer to a file by its ID.
          </EmptyState>
        }
      >
        {(files) => <FileTable files={files} />}
      </CursorList>
    </Page>
  )
}

/** Newest first, or only the one with this id. */
function useFiles(
  workspaceId: string | null,
  { purpose, id }: { purpose: Purpose | undefined; id: string | undefined },
) {
  const query = {
    order: 'desc' as const,
    limit: pageSize,
    ...(purpose && { purpose }),
    ...(workspaceId !== null && { workspace_id: workspaceId }),
  }
  const one = {
    path: { file_id: id ?? '' },
    query: workspaceId === null ? {} : { workspace_id: workspaceId },
  }
  const queryKey =
    id === undefined ? ['get', '/files', { params: { query } }] : ['get', '/files/{file_id}', { params: one }]
  const list = useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      if (id !== undefined) {
        const { data } = await client.GET('/files/{file_id}', { params: one, signal })
        return { has_more: false, last_id: null, data: data ? [toStoredFile(data)] : [] }
      }
      const params = { query: { ...query, ...(pageParam !== null && { after_id: pageParam }) } }
      const { data } = await client.GET('/files', { params, signal })
      if (!data) throw new Error('The server sent no files.')
      return { has_more: data.has_more, last_id: data.last_id, data: data.data.map(toStoredFile) }
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more, last_id }) => (has_more ? last_id : null),
  })
  return { list, call: callOf({ queryKey }) }
}

function FileTable({ files }: { files: StoredFile[] }) {
  return (
    <DataTable
      rows={files}
      keyOf={({ id }) => id}
      minWidth={320}
      columns={[
        {
          header: 'Name',
          breaksWords: true,
          maxWidth: 360,
          render: ({ id, name }) => (
            <>
              <Text size="sm">{name}</Text>
              <ShortId value={id} label={`Copy the id of ${name}`} />
            </>
          ),
        },
        { header: 'Type', visibleFrom: 'md', breaksWords: true, render: ({ type }) => type },
        { header: 'Size', isNumber: true, render: ({ bytes }) => formatBytes(bytes) },
        { header: 'Purpose', visibleFrom: 'md', render: ({ purpose }) => purpose },
        {
          header: 'Uploaded',
          visibleFrom: 'sm',
          render: ({ createdAt }) => <Time iso={createdAt} style="age" />,
        },
        { header: 'Actions', isHeaderHidden: true, render: (file) => <FileActions file={file} /> },
      ]}
    />
  )
}

function FileActions({ file }: { file: StoredFile }) {
  const session = useSession()
  const refresh = useRefresh()
  const { id: workspaceId } = useWorkspace()
  const { id, name } = file
  const remove = async () => {
    const query = workspaceId === null ? {} : { workspace_id: workspaceId }
    await client.DELETE('/files/{file_id}', { params: { path: { file_id: id }, query } })
    await refresh('/files')
  }
  return (
    <Group gap="xs" justify="flex-end">
      {previewOf(file) !== null && (
        <DialogButton label="Preview" description={`Preview ${name}`} variant="default">
          {(close) => <FilePreview file={file} onClose={close} />}
        </DialogButton>
      )}
      <Button
        size="xs"
        variant="default"
        component="a"
        href={fileUrl(id, workspaceId)}
        download={name}
        aria-label={`Download ${name}`}
      >
        Download
      </Button>
      {mayDo(session, 'files:write') && (
        <DialogButton label="Delete" description={`Delete ${name}`} variant="default" color="red">
          {(close) => (
            <ConfirmByName
              title="Delete the file"
              name={name}
              action="Delete"
              onConfirm={remove}
              onClose={close}
            >
              Requests and conversations that refer to it will fail. It cannot be restored.
            </ConfirmByName>
          )}
        </DialogButton>
      )}
    </Group>
  )
}
