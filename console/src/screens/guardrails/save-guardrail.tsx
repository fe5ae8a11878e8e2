import { notifications } from '@mantine/notifications'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Affected } from './affected.tsx'
import type { Draft, Guardrail } from './draft.ts'

interface SaveGuardrailProps {
  guardrail: Guardrail
  draft: Draft
  onClose: () => void
}

/** Says who is affected before the draft is saved. */
export function SaveGuardrail({ guardrail, draft, onClose }: SaveGuardrailProps) {
  const refresh = useRefresh()
  const save = async () => {
    await client.PATCH('/guardrails/{id}', { params: { path: { id: guardrail.id } }, body: draft })
    await refresh('/guardrails', '/guardrails/{id}', '/keys/{hash}/policy')
    notifications.show({ message: 'Saved.' })
  }
  return (
    <FormDialog title={`Save ${guardrail.name}`} action="Save" size="lg" onSubmit={save} onClose={onClose}>
      <Affected guardrail={guardrail} draft={draft} />
    </FormDialog>
  )
}
