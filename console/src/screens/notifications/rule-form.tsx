import { NumberInput, Select, Switch, TagsInput, Text } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { SecretInput } from '../../components/secret-input.tsx'
import { TextField } from '../../components/text-field.tsx'
import { WorkspaceSelect } from '../../components/workspace-select.tsx'
import {
  buildRule,
  buildSettings,
  draftOf,
  type InitialRule,
  newRuleDraft,
  type RuleDraft,
} from './rule-draft.ts'
import { describeRule, type Rule, type RuleKind, ruleKinds } from './rule-kinds.ts'

const kindOptions = Object.entries(ruleKinds).map(([value, { label }]) => ({ value, label }))
const digestOptions = [
  { value: 'immediate', label: 'At once' },
  { value: 'daily', label: 'Once a day, at 08:00 UTC' },
]

const lowBalance: InitialRule = { kind: 'low_balance', workspaceId: null }

interface RuleFormProps {
  /** The rule to edit; without one, a new rule is created. */
  rule?: Rule
  initial?: InitialRule
  onClose: () => void
}

export function RuleForm({ rule, initial = lowBalance, onClose }: RuleFormProps) {
  const refresh = useRefresh()
  const [draft, setDraft] = useState(() => (rule ? draftOf(rule) : newRuleDraft(initial)))
  const update = (changes: Partial<RuleDraft>) => setDraft({ ...draft, ...changes })
  const save = async () => {
    if (rule) {
      const params = { path: { id: rule.id } }
      await client.PATCH('/notifications/rules/{id}', { params, body: buildSettings(draft) })
    } else await client.POST('/notifications/rules', { body: buildRule(draft) })
    await refresh('/notifications/rules')
  }
  return (
    <FormDialog
      title={rule ? `Edit: ${ruleKinds[rule.kind].label}` : 'Add a rule'}
      action={rule ? 'Save' : 'Add'}
      isReady={draft.threshold !== null}
      onSubmit={save}
      onClose={onClose}
    >
      {!rule && (
        <Select
          label="What"
          data={kindOptions}
          allowDeselect={false}
          value={draft.kind}
          onChange={(kind) => {
            if (kind) setDraft({ ...draft, ...pickKind(kind as RuleKind) })
          }}
        />
      )}
      <ThresholdFields draft={draft} isNew={!rule} onChange={update} />
      <ChannelFields draft={draft} storedSecret={rule?.channels.webhook?.secret ?? ''} onChange={update} />
      <Switch
        label="Enabled"
        checked={draft.enabled}
        onChange={(event) => update({ enabled: event.currentTarget.checked })}
      />
    </FormDialog>
  )
}

function pickKind(kind: RuleKind): Pick<RuleDraft, 'kind' | 'threshold' | 'workspaceId'> {
  return { kind, threshold: ruleKinds[kind].fallback, workspaceId: null }
}

interface ThresholdFieldsProps {
  draft: RuleDraft
  isNew: boolean
  onChange: (changes: Partial<RuleDraft>) => void
}

function ThresholdFields({ draft, isNew, onChange }: ThresholdFieldsProps) {
  const { unit, min, max, hasWorkspaces } = ruleKinds[draft.kind]
  return (
    <>
      <NumberInput
        label={`Threshold, in ${unit}`}
        required
        min={min}
        max={max}
        decimalScale={2}
        value={draft.threshold ?? ''}
        onChange={(value) => onChange({ threshold: typeof value === 'number' ? value : null })}
      />
      {draft.threshold !== null && (
        <Text size="sm" c="dimmed">
          {describeRule({ kind: draft.kind, threshold: draft.threshold })}
        </Text>
      )}
      {isNew && hasWorkspaces && (
        <WorkspaceSelect
          label="Where"
          placeholder="In the whole organization"
          value={draft.workspaceId}
          onChange={(workspaceId) => onChange({ workspaceId })}
        />
      )}
    </>
  )
}

interface ChannelFieldsProps {
  draft: RuleDraft
  storedSecret: string
  onChange: (changes: Partial<RuleDraft>) => void
}

function ChannelFields({ draft, storedSecret, onChange }: ChannelFieldsProps) {
  return (
    <>
      <TagsInput
        label="E-mail addresses"
        description="Press Enter after each. The operator must have configured a mail server."
        maxTags={20}
        acceptValueOnBlur
        data-autofocus
        value={draft.emails}
        onChange={(emails) => onChange({ emails })}
      />
      <TextField
        label="Webhook"
        description="An https URL (optional)"
        maxLength={2000}
        value={draft.webhookUrl}
        onChange={(webhookUrl) => onChange({ webhookUrl })}
      />
      {draft.webhookUrl !== '' && (
        <SecretInput
          label="Signing secret of the webhook"
          hint="whsec_ and the base64 of 24 to 64 random bytes, to verify that calls are genuine."
          stored={storedSecret}
          value={draft.webhookSecret}
          onChange={(webhookSecret) => onChange({ webhookSecret })}
        />
      )}
      <Select
        label="When"
        data={digestOptions}
        allowDeselect={false}
        value={draft.digest}
        onChange={(digest) => digest && onChange({ digest: digest as RuleDraft['digest'] })}
      />
    </>
  )
}
