import { useState } from 'react'
import { client, type Schemas } from '../api/client.ts'
import { useRefresh } from '../api/use-refresh.ts'
import { useWorkspace } from '../app/workspace.tsx'
import { FormDialog } from './form-dialog.tsx'
import type { SearchValues } from './saved-view-search.ts'
import { TextField } from './text-field.tsx'
import { type Audience, bodyOf, isComplete, VisibilityFields } from './visibility-fields.tsx'

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
  const [audience, setAudience] = useState<Audience>({
    visibility: view?.visibility ?? 'private',
    workspaceId: view?.workspace_id ?? current?.id ?? null,
  })
  const save = async () => {
    const { visibility, workspaceId } = audience
    const isMoved = view?.visibility !== visibility || (view.workspace_id ?? workspaceId) !== workspaceId
    const { data } = view
      ? await client.PATCH('/saved-views/{id}', {
          params: { path: { id: view.id } },
          body: { name, ...(isMoved && bodyOf(audience)) },
        })
      : draft
        ? await client.POST('/saved-views', { body: { ...draft, name, ...bodyOf(audience) } })
        : {}
    await refresh('/saved-views')
    if (data) onSaved(data.data.id)
  }
  return (
    <FormDialog
      title={view ? `Edit “${view.name}”` : 'Save view'}
      action="Save"
      isReady={name.trim() !== '' && isComplete(audience)}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} maxLength={60} data-autofocus />
      <VisibilityFields
        permission="shared_views:write"
        isOwn={view?.is_own ?? true}
        value={audience}
        onChange={setAudience}
      />
    </FormDialog>
  )
}
