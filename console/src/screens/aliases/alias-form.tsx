import { Fieldset, SegmentedControl, Select, SimpleGrid, Switch } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { ModelsInput } from '../../components/names-input.tsx'
import { NameField, TextField } from '../../components/text-field.tsx'
import { WorkspaceSelect } from '../../components/workspace-select.tsx'
import {
  type AliasDraft,
  draftOfAlias,
  emptyAliasDraft,
  isComplete,
  toCreateBody,
  toUpdateBody,
} from './alias-draft.ts'
import type { Alias } from './shares.ts'
import { TargetFields } from './target-fields.tsx'

const kinds = [
  { value: 'order', label: 'In order' },
  { value: 'weights', label: 'By weight' },
]
const splits: { value: AliasDraft['splitBy']; label: string }[] = [
  { value: 'session', label: 'Session' },
  { value: 'user', label: 'End user' },
  { value: 'request', label: 'Request' },
]

interface AliasFormProps {
  /** None to create one. */
  alias?: Alias
  onClose: () => void
}

export function AliasForm({ alias, onClose }: AliasFormProps) {
  const refresh = useRefresh()
  const { current } = useWorkspace()
  const [draft, setDraft] = useState(() =>
    alias ? draftOfAlias(alias) : emptyAliasDraft(current?.id ?? null),
  )
  const update = (changes: Partial<AliasDraft>) => setDraft((before) => ({ ...before, ...changes }))
  const save = async () => {
    if (alias)
      await client.PATCH('/model-aliases/{id}', {
        params: { path: { id: alias.id } },
        body: toUpdateBody(draft),
      })
    else await client.POST('/model-aliases', { body: toCreateBody(draft) })
    await refresh('/model-aliases')
  }
  return (
    <FormDialog
      title={alias ? `Edit ${alias.name}` : 'Create an alias'}
      action={alias ? 'Save' : 'Create'}
      size="lg"
      isReady={isComplete(draft)}
      onSubmit={save}
      onClose={onClose}
    >
      {!alias && <PlaceFields draft={draft} onChange={update} />}
      <Routes draft={draft} onChange={update} />
      <Fieldset legend="Expiration">
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextField
            type="date"
            label="Expires"
            description="At the end of the day (UTC)"
            value={draft.lastDay}
            onChange={(lastDay) => update({ lastDay })}
          />
          <TextField
            label="Replacement"
            description="The model that requests are sent to afterwards"
            placeholder="None"
            disabled={draft.lastDay === ''}
            maxLength={256}
            value={draft.replacement}
            onChange={(replacement) => update({ replacement })}
          />
        </SimpleGrid>
      </Fieldset>
    </FormDialog>
  )
}

interface FieldsProps {
  draft: AliasDraft
  onChange: (changes: Partial<AliasDraft>) => void
}

function PlaceFields({ draft, onChange }: FieldsProps) {
  const isEverywhere = mayDoEverywhere(useSession(), 'model_aliases:write')
  return (
    <>
      <NameField
        description="The model name that requests use, such as support or team/fast"
        value={draft.name}
        onChange={(name) => onChange({ name })}
      />
      <WorkspaceSelect
        label="Workspace"
        placeholder={isEverywhere ? 'All workspaces' : 'Choose a workspace'}
        value={draft.workspaceId}
        onChange={(workspaceId) => onChange({ workspaceId })}
      />
    </>
  )
}

function Routes({ draft, onChange }: FieldsProps) {
  return (
    <>
      <SegmentedControl
        aria-label="How models are chosen"
        size="xs"
        data={kinds}
        value={draft.kind}
        onChange={(kind) => onChange({ kind: kind === 'weights' ? kind : 'order' })}
      />
      {draft.kind === 'order' ? (
        <ModelsInput
          label="Models"
          description="The first model serves requests; the others are fallbacks, in this order"
          value={draft.models}
          onChange={(models) => onChange({ models })}
        />
      ) : (
        <>
          <TargetFields targets={draft.targets} onChange={(targets) => onChange({ targets })} />
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <Select
              label="Same model for each"
              data={splits}
              allowDeselect={false}
              value={draft.splitBy}
              onChange={(value) => {
                const split = splits.find((known) => known.value === value)
                if (split) onChange({ splitBy: split.value })
              }}
            />
            <Switch
              label="Fall back to the other models"
              style={{ alignSelf: 'end' }}
              checked={draft.hasFallback}
              onChange={(event) => onChange({ hasFallback: event.currentTarget.checked })}
            />
          </SimpleGrid>
        </>
      )}
    </>
  )
}
