import { describe, expect, test } from 'bun:test'
import { parse, parseAllDocuments } from 'yaml'
import { buildSbom } from '../scripts/packaging/sbom.mjs'
import { readConfig } from '../src/config.ts'
import { Metrics } from '../src/gateway/metrics.ts'
import { settingsFields } from '../src/gateway/settings.ts'
import { buildSystemRoutes } from '../src/http/system-routes.ts'
import { version } from '../src/platform/version.ts'
import {
  expectValidManifests,
  expectValidSpdx,
  hasPackagingTools,
  runHelm,
} from './support/packaging-tools.ts'

/** The oldest of the chart, and the newest that the validator knows. */
const kubernetesVersions = ['1.30', '1.37']

const everything = {
  image: { repository: 'registry.example.com/headgate', digest: `sha256:${'a'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  secret: { name: 'gate', variables: ['DATABASE_URL', 'HEADGATE_SECRET_KEY', 'OPENAI_API_KEY'] },
  env: { HEADGATE_WORKERS: '2' },
  config: { limits: { drain: 60, drain_delay: 7.5 }, public_url: 'https://gate.example.com' },
  autoscaling: { enabled: true },
  ingress: { enabled: true, className: 'nginx', hosts: ['gate.example.com'], tlsSecret: 'tls' },
  networkPolicy: { from: [{ namespaceSelector: { matchLabels: { name: 'web' } } }] },
  serviceAccount: { annotations: { 'iam.example.com/role': 'gate' } },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'gate', operator: 'Exists' }],
  priorityClassName: 'high',
}
const embedded = { mode: 'embedded', secret: { variables: [] } }
const stateful = { ...everything, persistence: { enabled: true, storageClass: 'fast' } }

interface Manifest {
  kind: string
  metadata: { name: string; annotations?: Record<string, string> }
  // biome-ignore lint/suspicious/noExplicitAny: each kind has fields of its own, which the validator checks
  spec: any
  data?: Record<string, string>
}

function render(values: object): { text: string; manifests: Manifest[] } {
  const { exitCode, stdout, stderr } = runHelm('template', values, 'gate')
  expect(exitCode, stderr).toBe(0)
  return { text: stdout, manifests: parseAllDocuments(stdout).map((document) => document.toJS()) }
}

function find({ manifests }: { manifests: Manifest[] }, kind: string, suffix = ''): Manifest {
  const found = manifests.find(
    ({ kind: candidate, metadata }) => candidate === kind && metadata.name === `gate-headgate${suffix}`,
  )
  if (!found) throw new Error(`There is no ${kind} gate-headgate${suffix}.`)
  return found
}

function listKinds({ manifests }: { manifests: Manifest[] }): string[] {
  return manifests.map(({ kind }) => kind)
}

describe.if(hasPackagingTools)('the Helm chart', () => {
  const [defaults, all, withVolumes, single] = hasPackagingTools
    ? [render({}), render(everything), render(stateful), render(embedded)]
    : []
  if (!defaults || !all || !withVolumes || !single) return
  const podOf = (rendered: typeof all, kind: string) => find(rendered, kind).spec.template.spec

  test('has no problem that Helm knows', () => {
    const { exitCode, stdout } = runHelm('lint', {}, '--strict')
    expect(exitCode, stdout).toBe(0)
  })

  test.each(kubernetesVersions)('makes valid manifests for Kubernetes %s', (kubernetes) => {
    expectValidManifests(kubernetes, defaults.text, all.text, withVolumes.text, single.text)
  })

  test.each([
    [{ typo: 1 }, 'typo'],
    [{ replicas: 0 }, 'replicas'],
    [{ config: { limits: { drain: 'long' } } }, 'drain'],
    [{ secret: { variables: ['database-url'] } }, 'secret.variables.0'],
    [{ ingress: { enabled: true } }, 'ingress.hosts'],
  ])('rejects %j, and names the value', (values, name) => {
    const { exitCode, stderr } = runHelm('template', values, 'gate')
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain(name)
  })

  test('is of the version of the server', async () => {
    const { appVersion, version: chartVersion } = parse(await Bun.file('deploy/helm/Chart.yaml').text())
    expect([appVersion, chartVersion]).toEqual([version, version])
    expect(podOf(defaults, 'Deployment').containers[0].image).toBe(`headgate:${version}`)
  })

  test('gives a node more time to end than it takes to drain', () => {
    for (const [rendered, kind] of [
      [defaults, 'Deployment'],
      [all, 'Deployment'],
      [withVolumes, 'StatefulSet'],
    ] as const) {
      const pod = podOf(rendered, kind)
      const text = find(rendered, 'ConfigMap').data?.['headgate.yaml'] ?? ''
      // In milliseconds.
      const { drain, drain_delay } = settingsFields.parse(parse(text)).limits
      const wait = pod.containers[0].lifecycle.preStop.sleep.seconds
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(
        wait + ((drain_delay ?? 0) + drain) / 1000 + 5,
      )
    }
    expect(podOf(all, 'Deployment').terminationGracePeriodSeconds).toBe(88)
  })

  test('starts nodes with settings that are valid, and probes that exist', () => {
    const [{ env, args, livenessProbe, readinessProbe, startupProbe, ports }] = podOf(
      all,
      'Deployment',
    ).containers
    const variables: Record<string, string> = Object.fromEntries(
      env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    )
    const plain = Object.entries(variables).filter(([name]) => !name.endsWith('_FILE'))
    // Mounted as a file.
    plain.push(['DATABASE_URL', 'postgres://headgate@database/headgate'])
    expect(readConfig(Object.fromEntries(plain))).toMatchObject({
      host: '0.0.0.0',
      port: ports[0].containerPort,
      dataDir: '/data',
    })
    expect(args).toEqual(['serve'])
    const paths = buildSystemRoutes().map(({ path }) => path)
    for (const probe of [livenessProbe, readinessProbe, startupProbe])
      expect(paths).toContain(probe.httpGet.path)
  })

  test('takes secrets from files of the Secret alone', () => {
    const { containers, volumes } = podOf(all, 'Deployment')
    const files = containers[0].env.filter(({ name }: { name: string }) => name.endsWith('_FILE'))
    expect(files).toEqual(
      everything.secret.variables.map((name) => ({
        name: `${name}_FILE`,
        value: `/run/secrets/headgate/${name}`,
      })),
    )
    const { secret } = volumes.find(({ name }: { name: string }) => name === 'secrets')
    expect(secret.secretName).toBe('gate')
    expect(secret.items.map(({ key }: { key: string }) => key)).toEqual(everything.secret.variables)
    expect(listKinds(all)).not.toContain('Secret')
  })

  test('runs every pod as the user of the image, without privileges, on a read-only file system', async () => {
    const [, uid] = (await Bun.file('Dockerfile').text()).match(/--uid (\d+)/) ?? []
    const pods = [defaults, withVolumes].flatMap(({ manifests }) =>
      manifests.filter(({ spec }) => spec?.template).map(({ spec }) => spec.template.spec),
    )
    expect(pods).toHaveLength(6)
    for (const { securityContext, containers, automountServiceAccountToken } of pods) {
      expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: Number(uid) })
      expect(containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(automountServiceAccountToken).toBe(false)
    }
  })

  test('migrates before and after an upgrade, in pods that get no requests', () => {
    const jobs = [find(all, 'Job', '-migrate'), find(all, 'Job', '-migrate-after')]
    expect(jobs.map(({ metadata }) => metadata.annotations?.['helm.sh/hook'])).toEqual([
      'pre-install,pre-upgrade',
      'post-upgrade',
    ])
    for (const { spec } of jobs) {
      expect(spec.template.spec.containers[0].args).toEqual(['migrate'])
      expect(spec.template.metadata.labels).not.toMatchObject(find(all, 'Service').spec.selector)
    }
    expect(find(all, 'Deployment').spec.template.metadata.labels).toMatchObject(
      find(all, 'Service').spec.selector,
    )
  })

  test('scales on a metric that the server has', async () => {
    const { spec } = find(all, 'HorizontalPodAutoscaler')
    const metrics = new Metrics()
    metrics.registerConnections(() => null)
    expect((await metrics.render()).body).toContain(`\n${spec.metrics[0].pods.metric.name} 0\n`)
    expect(spec.scaleTargetRef.kind).toBe('Deployment')
    expect(find(withVolumes, 'HorizontalPodAutoscaler').spec.scaleTargetRef.kind).toBe('StatefulSet')
    // Otherwise each upgrade would undo what the autoscaler did.
    expect(find(all, 'Deployment').spec).not.toHaveProperty('replicas')
    expect(find(defaults, 'Deployment').spec.replicas).toBe(2)
  })

  test('hides the paths that need no key, and leads to the port of the nodes', () => {
    const [{ http }] = find(all, 'Ingress').spec.rules
    const targets = http.paths.map(
      ({ path, backend }: { path: string; backend: { service: { name: string } } }) => [
        path,
        backend.service.name,
      ],
    )
    expect(targets).toEqual([
      ['/metrics', 'gate-headgate-none'],
      ['/status', 'gate-headgate-none'],
      ['/', 'gate-headgate'],
    ])
    expect(find(all, 'Service', '-none').spec).not.toHaveProperty('selector')
    expect(find(all, 'NetworkPolicy').spec.ingress[0].ports).toEqual([{ protocol: 'TCP', port: 8080 }])
  })

  test('embedded: one node with a volume, and neither a database nor a migration beside it', () => {
    const { spec } = find(single, 'StatefulSet')
    expect(spec.replicas).toBe(1)
    expect(spec.volumeClaimTemplates[0].metadata.name).toBe('data')
    expect(single.text).not.toContain('DATABASE_URL')
    for (const kind of ['Job', 'PodDisruptionBudget', 'HorizontalPodAutoscaler', 'Secret'])
      expect(listKinds(single)).not.toContain(kind)
  })
})

test.if(hasPackagingTools)('the bill of materials is valid SPDX', () => {
  expectValidSpdx(buildSbom({ version, commit: 'a'.repeat(40), date: '2026-01-02T03:04:05Z' }))
})
