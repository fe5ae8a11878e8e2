import { Switch } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'
import { useWorkspace } from '../../../app/workspace.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { TextField } from '../../../components/text-field.tsx'
import {
  type Audience,
  bodyOf,
  isComplete,
  VisibilityFields,
} from '../../../components/visibility-fields.tsx'
import type { NewComparison, Votes } from './matrix.ts'

interface SaveComparisonProps {
  content: Pick<NewComparison, 'models' | 'prompts' | 'parameters' | 'replies'>
  votes: Votes
  isBlind: boolean
  onSaved: (id: string) => void
  onClose: () => void
}

/** Saves what was run, and the votes of the person who ran it. */
export function SaveComparison({ content, votes, onSaved, onClose, ...props }: SaveComparisonProps) {
  const refresh = useRefresh()
  const { current } = useWorkspace()
  const [name, setName] = useState('')
  const [isBlind, setBlind] = useState(props.isBlind)
  const [audience, setAudience] = useState<Audience>({
    visibility: 'private',
    workspaceId: current?.id ?? null,
  })
  const save = async () => {
    const body = { ...content, name, is_blind: isBlind, ...bodyOf(audience) }
    const { data } = await client.POST('/comparisons', { body })
    if (!data) throw new Error('The server sent no comparison.')
    const { id } = data.data
    for (const { prompt, model } of votes.own_votes)
      await client.PUT('/comparisons/{id}/votes/{prompt}', {
        params: { path: { id, prompt: String(prompt) } },
        body: { model },
      })
    await refresh('/comparisons')
    onSaved(id)
  }
  return (
    <FormDialog
      title="Save comparison"
      action="Save"
      isReady={name.trim() !== '' && isComplete(audience)}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} maxLength={100} data-autofocus />
      <VisibilityFields permission="shared_comparisons:write" isOwn value={audience} onChange={setAudience} />
      <Switch
        label="Blind"
        description="Hides models, costs and times from each person until they have voted on every prompt"
        checked={isBlind}
        onChange={(event) => setBlind(event.currentTarget.checked)}
      />
    </FormDialog>
  )
}
