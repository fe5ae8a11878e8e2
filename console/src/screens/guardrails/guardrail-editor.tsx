import { Button, Fieldset, Group, Stack, Switch, Textarea, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { Id } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { BuiltinFilters } from './builtin-filters.tsx'
import type { buildDraft, DraftFields, Guardrail } from './draft.ts'
import { PatternFilters } from './pattern-filters.tsx'

interface GuardrailEditorProps {
  guardrail: Guardrail
  fields: DraftFields
  result: ReturnType<typeof buildDraft>
  mayChange: boolean
  onChange: (fields: DraftFields) => void
}

/** The common fields as a form, all others as JSON. */
export function GuardrailEditor({ guardrail, fields, result, mayChange, onChange }: GuardrailEditorProps) {
  const queryClient = useQueryClient()
  const save = api.useMutation('patch', '/guardrails/{id}', {
    onSuccess: async () => {
      notifications.show({ message: 'Saved.' })
      await Promise.all(
        ['/guardrails', '/guardrails/{id}'].map((path) =>
          queryClient.invalidateQueries({ queryKey: ['get', path] }),
        ),
      )
    },
  })
  const problem = 'problem' in result ? result.problem : null
  return (
    <Panel title="Rules" description={<Id value={guardrail.id} />}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if ('draft' in result) save.mutate({ params: { path: { id: guardrail.id } }, body: result.draft })
        }}
      >
        <Fieldset variant="unstyled" disabled={!mayChange} aria-label="Rules">
          <Stack>
            <RuleFields fields={fields} problem={problem} onChange={onChange} />
            {save.error !== null && <ErrorNotice error={save.error} />}
            {mayChange && (
              <Group>
                <Button
                  type="submit"
                  disabled={problem !== null || !fields.name.trim()}
                  loading={save.isPending}
                >
                  Save
                </Button>
              </Group>
            )}
          </Stack>
        </Fieldset>
      </form>
    </Panel>
  )
}

interface RuleFieldsProps {
  fields: DraftFields
  /** An error in the JSON. */
  problem: string | null
  onChange: (fields: DraftFields) => void
}

function RuleFields({ fields, problem, onChange }: RuleFieldsProps) {
  const set = (more: Partial<DraftFields>) => onChange({ ...fields, ...more })
  return (
    <>
      <TextInput
        label="Name"
        required
        maxLength={200}
        value={fields.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <TextInput
        label="Description"
        maxLength={1000}
        value={fields.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
      <BuiltinFilters filters={fields.builtins} onChange={(builtins) => set({ builtins })} />
      <PatternFilters filters={fields.patterns} onChange={(patterns) => set({ patterns })} />
      <Textarea
        label="Other fields, as JSON"
        description="Such as allowed_models, ignored_providers, limit_usd with reset_interval, moderation or enforce_zdr. What is not here is not set."
        autosize
        minRows={3}
        maxRows={16}
        spellCheck={false}
        error={problem}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        value={fields.rest}
        onChange={(event) => set({ rest: event.currentTarget.value })}
      />
      <Switch
        label="Dry run"
        description="Matches are reported as hits, and nothing is redacted or refused."
        checked={fields.isDryRun}
        onChange={(event) => set({ isDryRun: event.currentTarget.checked })}
      />
    </>
  )
}
