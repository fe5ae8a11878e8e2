import { NumberInput, SimpleGrid, Switch } from '@mantine/core'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { MoneyField } from '../../components/money-field.tsx'
import { ModelsInput, ProvidersInput } from '../../components/names-input.tsx'
import { NameField, TextField } from '../../components/text-field.tsx'
import { WorkspaceSelect } from '../../components/workspace-select.tsx'

export type Shadow = Schemas['Shadow']

interface ShadowFormProps {
  /** None to create one. */
  shadow?: Shadow
  onClose: () => void
}

export function ShadowForm({ shadow, onClose }: ShadowFormProps) {
  const refresh = useRefresh()
  const [draft, setDraft] = useState(() => draftOf(shadow))
  const update = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }))
  const save = async () => {
    if (shadow)
      await client.PATCH('/shadows/{id}', { params: { path: { id: shadow.id } }, body: toBody(draft) })
    else await client.POST('/shadows', { body: { ...toBody(draft), workspace_id: draft.workspaceId } })
    await refresh('/shadows')
  }
  return (
    <FormDialog
      title={shadow ? `Edit ${shadow.name}` : 'Create a shadow'}
      action={shadow ? 'Save' : 'Create'}
      size="lg"
      isReady={draft.name.trim() !== '' && draft.dailyUsd !== null && draft.dailyUsd > 0}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField value={draft.name} onChange={(name) => update({ name })} />
      {!shadow && (
        <WorkspaceSelect
          label="Workspace"
          placeholder="All workspaces"
          value={draft.workspaceId}
          onChange={(workspaceId) => update({ workspaceId })}
        />
      )}
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NumberInput
          label="Share of the requests"
          description="0% compares only what is posted"
          suffix="%"
          min={0}
          max={100}
          decimalScale={4}
          value={draft.percent}
          onChange={(value) => update({ percent: Number(value) || 0 })}
        />
        <MoneyField
          label="Budget for a day"
          description="Mirrors beyond it are skipped"
          required
          defaultValue={draft.dailyUsd}
          onChange={(dailyUsd) => update({ dailyUsd })}
        />
      </SimpleGrid>
      <ModelsInput
        label="Requests for these models"
        placeholder="All models"
        value={draft.models}
        onChange={(models) => update({ models })}
      />
      <TextField
        label="Model of the mirrors"
        placeholder="As in the request"
        maxLength={256}
        value={draft.model}
        onChange={(model) => update({ model })}
      />
      <ProvidersInput
        label="Send mirrors only to"
        placeholder="All providers"
        value={draft.only}
        onChange={(only) => update({ only })}
      />
      <ProvidersInput
        label="Do not send mirrors to"
        placeholder="None"
        value={draft.ignore}
        onChange={(ignore) => update({ ignore })}
      />
      <Switch
        label="Enabled"
        checked={draft.isEnabled}
        onChange={(event) => update({ isEnabled: event.currentTarget.checked })}
      />
    </FormDialog>
  )
}

type Draft = ReturnType<typeof draftOf>

function draftOf(shadow: Shadow | undefined) {
  return {
    name: shadow?.name ?? '',
    workspaceId: shadow?.workspace_id ?? null,
    percent: (shadow?.share ?? 0.1) * 100,
    dailyUsd: (shadow?.daily_usd ?? null) as number | null,
    models: shadow?.models ?? [],
    model: shadow?.target.model ?? '',
    only: shadow?.target.only ?? [],
    ignore: shadow?.target.ignore ?? [],
    isEnabled: shadow?.enabled ?? true,
  }
}

function toBody(draft: Draft) {
  const { model, only, ignore } = draft
  const hasTarget = model !== '' || only.length > 0 || ignore.length > 0
  return {
    name: draft.name,
    enabled: draft.isEnabled,
    share: draft.percent / 100,
    daily_usd: draft.dailyUsd ?? 0,
    models: draft.models.length > 0 ? draft.models : null,
    target: hasTarget
      ? {
          model: model === '' ? null : model,
          only: only.length > 0 ? only : null,
          ignore: ignore.length > 0 ? ignore : null,
        }
      : null,
  }
}
