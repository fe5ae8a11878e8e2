import { Select, Switch } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useWorkspace } from '../../app/workspace.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { TextField } from '../../components/text-field.tsx'
import { TargetWorkspace } from '../../components/workspace-scope.tsx'
import { ConfigFields } from './config-fields.tsx'
import { buildCreateBody, emptyDraft, isComplete } from './draft.ts'
import { HeaderFields } from './header-fields.tsx'
import { type DestinationType, kindOf, kindOptions } from './kinds.ts'
import { useDestinationRefresh } from './queries.ts'

/** Asks for what every destination needs; filters and sampling are on its page. */
export function CreateDestination({ onClose }: { onClose: () => void }) {
  const { current } = useWorkspace()
  const [workspaceId, setWorkspaceId] = useState(current?.id ?? null)
  const navigate = useNavigate()
  const refresh = useDestinationRefresh()
  const [type, setType] = useState<DestinationType | null>(null)
  const [draft, setDraft] = useState(emptyDraft)
  const update = (changes: Partial<typeof draft>) => setDraft({ ...draft, ...changes })
  const create = async () => {
    if (type === null) return
    const body = buildCreateBody(type, draft, workspaceId)
    const { data } = await client.POST('/observability/destinations', { body })
    await refresh()
    if (data) await navigate({ to: '/observability/$id', params: { id: data.data.id } })
  }
  return (
    <FormDialog
      title="Add a destination"
      action="Add"
      size="lg"
      isReady={type !== null && isComplete(type, draft)}
      onSubmit={create}
      onClose={onClose}
    >
      <Select
        label="Type"
        placeholder="Choose a product"
        data={kindOptions}
        searchable
        required
        allowDeselect={false}
        data-autofocus
        value={type}
        onChange={(value) => {
          const next = value as DestinationType
          const isOwnName = type === null ? draft.name !== '' : draft.name !== kindOf(type).label
          setType(next)
          update({ config: {}, ...(!isOwnName && { name: kindOf(next).label }) })
        }}
      />
      <TargetWorkspace value={workspaceId} onChange={setWorkspaceId} />
      {type !== null && (
        <>
          <TextField
            label="Name"
            required
            maxLength={200}
            value={draft.name}
            onChange={(name) => update({ name })}
          />
          <ConfigFields type={type} config={draft.config} onChange={(config) => update({ config })} />
          <HeaderFields headers={draft.headers} onChange={(headers) => update({ headers })} />
          <Switch
            label="Leave out prompts and replies"
            description="Only metadata is sent: model, tokens, times, errors. You can change it later."
            checked={draft.privacy_mode}
            onChange={(event) => update({ privacy_mode: event.currentTarget.checked })}
          />
        </>
      )}
    </FormDialog>
  )
}
