import { Group, NumberInput, SegmentedControl, Select, SimpleGrid, Switch, TagsInput } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { useWorkspace } from '../../../app/workspace.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { JsonFields } from '../../../components/json-fields.tsx'
import { ModelsInput, ProvidersInput } from '../../../components/names-input.tsx'
import { NameField, TextField } from '../../../components/text-field.tsx'
import { WorkspaceSelect } from '../../../components/workspace-select.tsx'
import { ConditionField } from './condition-field.tsx'
import { DryRun } from './dry-run.tsx'
import {
  draftOfRule,
  emptyRuleDraft,
  isTryable,
  type Rule,
  type RuleDraft,
  toCreateBody,
  toUpdateBody,
} from './rule-draft.ts'

const kinds = [
  { value: 'route', label: 'Route' },
  { value: 'reject', label: 'Reject' },
]
const sorts = [
  { value: 'price', label: 'Lowest price' },
  { value: 'throughput', label: 'Highest throughput' },
  { value: 'latency', label: 'Lowest latency' },
  { value: 'exacto', label: 'Best tool calls (exacto)' },
]

interface RuleFormProps {
  /** None to create one. */
  rule?: Rule
  onClose: () => void
}

export function RuleForm({ rule, onClose }: RuleFormProps) {
  const refresh = useRefresh()
  const { current } = useWorkspace()
  const [draft, setDraft] = useState(() => (rule ? draftOfRule(rule) : emptyRuleDraft(current?.id ?? null)))
  const update = (changes: Partial<RuleDraft>) => setDraft((before) => ({ ...before, ...changes }))
  const save = async () => {
    if (rule)
      await client.PATCH('/routing-rules/{id}', {
        params: { path: { id: rule.id } },
        body: toUpdateBody(draft),
      })
    else await client.POST('/routing-rules', { body: toCreateBody(draft) })
    await refresh('/routing-rules')
  }
  return (
    <FormDialog
      title={rule ? `Edit ${rule.name}` : 'Create a routing rule'}
      action={rule ? 'Save' : 'Create'}
      size="lg"
      isReady={draft.name.trim() !== '' && isTryable(draft)}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField value={draft.name} onChange={(name) => update({ name })} />
      <ConditionField value={draft.when} onChange={(when) => update({ when })} />
      <SegmentedControl
        aria-label="Effect"
        size="xs"
        data={kinds}
        value={draft.kind}
        onChange={(kind) => update({ kind: kind === 'reject' ? kind : 'route' })}
      />
      {draft.kind === 'route' ? (
        <RouteFields draft={draft} onChange={update} />
      ) : (
        <TextField
          label="Message"
          description="What the client reads"
          placeholder="Use the model team/fast for this."
          required
          maxLength={500}
          value={draft.message}
          onChange={(message) => update({ message })}
        />
      )}
      <PlaceFields draft={draft} isNew={!rule} onChange={update} />
      <DryRun draft={draft} />
    </FormDialog>
  )
}

interface FieldsProps {
  draft: RuleDraft
  onChange: (changes: Partial<RuleDraft>) => void
}

function RouteFields({ draft, onChange }: FieldsProps) {
  return (
    <>
      <ModelsInput
        label="Models"
        description="Replace the requested models, and are tried in this order"
        placeholder="Keep the requested models"
        value={draft.models}
        onChange={(models) => onChange({ models })}
      />
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Select
          label="Prefer"
          placeholder="No preference"
          clearable
          data={sorts}
          value={draft.sort}
          onChange={(sort) => onChange({ sort })}
        />
        <ProvidersInput
          label="Only providers"
          placeholder="All"
          value={draft.only}
          onChange={(only) => onChange({ only })}
        />
        <ProvidersInput
          label="Exclude providers"
          placeholder="None"
          value={draft.ignore}
          onChange={(ignore) => onChange({ ignore })}
        />
      </SimpleGrid>
      <TagsInput
        label="Add tags"
        placeholder={draft.tags.length === 0 ? 'queue=batch' : ''}
        acceptValueOnBlur
        maxTags={16}
        value={draft.tags}
        onChange={(tags) => onChange({ tags })}
      />
      {draft.rest !== '' && (
        <JsonFields value={draft.rest} placeholder="" onChange={(rest) => onChange({ rest })} />
      )}
    </>
  )
}

function PlaceFields({ draft, isNew, onChange }: FieldsProps & { isNew: boolean }) {
  const isEverywhere = mayDoEverywhere(useSession(), 'routing_rules:write')
  return (
    <Group align="flex-end">
      {isNew && (
        <WorkspaceSelect
          label="Workspace"
          placeholder={isEverywhere ? 'All workspaces' : 'Choose a workspace'}
          value={draft.workspaceId}
          onChange={(workspaceId) => onChange({ workspaceId })}
        />
      )}
      <NumberInput
        label="Position"
        placeholder="Last"
        maw={140}
        min={0}
        max={1_000_000_000}
        allowDecimal={false}
        value={draft.position ?? ''}
        onChange={(value) => onChange({ position: typeof value === 'number' ? value : null })}
      />
      <Switch
        label="Enabled"
        pb={8}
        checked={draft.enabled}
        onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
      />
    </Group>
  )
}
