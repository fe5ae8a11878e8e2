import { mayDo, mayDoEverywhere, type Session } from '../../../app/session.tsx'
import type { Step } from './checklist.tsx'
import { InviteStep } from './invite-step.tsx'
import { KeyStep } from './key-step.tsx'
import { ModelStep } from './model-step.tsx'
import { ProviderStep } from './provider-step.tsx'
import { RequestStep } from './request-step.tsx'
import { SnippetStep } from './snippet-step.tsx'
import type { Progress } from './use-progress.ts'

interface Secret {
  /** The secret of a key that was just created. */
  secret: string | null
  onCreate: (secret: string) => void
}

/** Lists the steps that the role allows. */
export function listSteps(session: Session, progress: Progress, { secret, onCreate }: Secret): Step[] {
  const isRequested = progress.requestCount > 0
  const steps: (Step | false)[] = [
    createProviderStep(session, progress),
    mayDo(session, 'byok:write') && createModelStep(progress),
    mayDo(session, 'keys:write') && {
      id: 'key',
      title: 'Create an API key',
      summary: progress.keys[0]
        ? `Newest: ${progress.keys[0].name}`
        : 'Applications send it with every request',
      isDone: progress.keys.length > 0,
      content: <KeyStep hasKeys={progress.keys.length > 0} onCreate={onCreate} />,
    },
    {
      id: 'connect',
      title: 'Connect your application',
      summary: 'Copy a snippet for your client',
      isDone: isRequested,
      content: <SnippetStep secret={secret} />,
    },
    mayDo(session, 'activity:read') && {
      id: 'request',
      title: 'Send the first request',
      summary: isRequested ? 'The first request has arrived' : 'Waiting for your first request…',
      isDone: isRequested,
      content: <RequestStep isDone={isRequested} />,
    },
    mayDoEverywhere(session, 'members:write') && {
      id: 'invite',
      title: 'Invite a colleague',
      summary: describeMembers(progress),
      isDone: progress.members > 1 || progress.invitations > 0,
      isOptional: true,
      content: <InviteStep />,
    },
  ]
  return steps.filter((step) => step !== false)
}

function createProviderStep(session: Session, progress: Progress): Step | false {
  const providers = [...progress.installed, ...progress.byok.map(({ provider }) => provider)]
  return (
    (mayDo(session, 'byok:write') || providers.length > 0) && {
      id: 'provider',
      title: 'Add a provider',
      summary:
        providers.length > 0
          ? `Ready: ${[...new Set(providers)].join(', ')}`
          : 'Optional: the sandbox works without one',
      isDone: providers.length > 0,
      isOptional: true,
      content: <ProviderStep progress={progress} />,
    }
  )
}

function createModelStep({ models }: Progress): Step {
  return {
    id: 'model',
    title: 'Choose a model',
    summary:
      models.length > 0
        ? `Ready: ${models.slice(0, 3).join(', ')}`
        : 'Optional: only the sandbox can be called now',
    isDone: models.length > 0,
    isOptional: true,
    content: <ModelStep models={models} />,
  }
}

function describeMembers({ members, invitations }: Progress): string {
  if (members > 1) return `${members} members`
  if (invitations > 0) return `${invitations} invited`
  return 'You are the only member'
}
