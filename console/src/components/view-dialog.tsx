import { Radio, Stack } from '@mantine/core'
import { useState } from 'react'
import { client, type Schemas } from '../api/client.ts'
import { useRefresh } from '../api/use-refresh.ts'
import { mayDo, mayDoEverywhere, useSession } from '../app/session.tsx'
import { useWorkspace } from '../app/workspace.tsx'
import { FormDialog } from './form-dialog.tsx'
import type { SearchValues } from './saved-view-search.ts'
import { TextField } from './text-field.tsx'
import { WorkspaceSelect } from './workspace-select.tsx'

type SavedView = Schemas['SavedView']

interface ViewDialogProps {
  /** The view that is changed. */
  view?: SavedView
  /** What is saved as a new view. */
  draft?: { screen: SavedView['screen']; search: SearchValues }
  onSaved: (id: string) => void
  onClose: () => void
}

/** Names a view, and says who sees it. */
export function ViewDialog({ view, draft, onSaved, onClose }: ViewDialogProps) {
  const refresh = useRefresh()
  const { current } = useWorkspace()
  const [name, setName] = useState(view?.name ?? '')
  const [visibility, setVisibility] = useState<SavedView['visibility']>(view?.visibility ?? 'private')
  const [workspaceId, setWorkspaceId] = useState<string | null>(view?.workspace_id ?? current?.id ?? null)
  const save = async () => {
    const place = {
      visibility,
      ...(visibility === 'workspace' && workspaceId !== null && { workspace_id: workspaceId }),
    }
    const isMoved = view?.visibility !== visibility || (view.workspace_id ?? workspaceId) !== workspaceId
    const { data } = view
      ? await client.PATCH('/saved-views/{id}', {
          params: { path: { id: view.id } },
          body: { name, ...(isMoved && place) },
        })
      : draft
        ? await client.POST('/saved-views', { body: { ...draft, name, ...place } })
        : {}
    await refresh('/saved-views')
    if (data) onSaved(data.data.id)
  }
  return (
    <FormDialog
      title={view ? `Edit “${view.name}”` : 'Save view'}
      action="Save"
      isReady={name.trim() !== '' && (visibility !== 'workspace' || workspaceId !== null)}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} maxLength={60} data-autofocus />
      <Visibility isOwn={view?.is_own ?? true} value={visibility} onChange={setVisibility} />
      {visibility === 'workspace' && (
        <WorkspaceSelect
          label="Workspace"
          allowDeselect={false}
          value={workspaceId}
          onChange={setWorkspaceId}
        />
      )}
    </FormDialog>
  )
}

interface VisibilityProps {
  isOwn: boolean
  value: SavedView['visibility']
  onChange: (value: SavedView['visibility']) => void
}

function Visibility({ isOwn, value, onChange }: VisibilityProps) {
  const session = useSession()
  if (!mayDo(session, 'shared_views:write')) return null
  return (
    <Radio.Group
      label="Visible to"
      value={value}
      onChange={(next) => onChange(next as SavedView['visibility'])}
    >
      <Stack gap={6} mt={4}>
        <Radio size="xs" value="private" label="Only me" disabled={!isOwn} />
        <Radio size="xs" value="workspace" label="Members of a workspace" />
        <Radio
          size="xs"
          value="organization"
          label="Everyone in the organization"
          disabled={!mayDoEverywhere(session, 'shared_views:write')}
        />
      </Stack>
    </Radio.Group>
  )
}
