// oidc-provider (npm) as an authorization server for tests: node oidc_provider.mjs PACKAGE_JSON SETTINGS_JSON
// Prints its port, then one JSON line for each request to the token and revocation endpoints.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packageFile, settingsText] = process.argv.slice(2);
const settings = JSON.parse(settingsText);
const require = createRequire(packageFile);
const { default: Provider, errors } = await import(pathToFileURL(require.resolve('oidc-provider')));

const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const { port } = server.address();

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: settings.clients ?? [],
  scopes: ['openid', 'offline_access', 'tools:read', 'tools:write'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  jwks: { keys: [settings.key] },
  cookies: { keys: ['for tests'] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: { AccessToken: settings.life, ClientCredentials: settings.life, Interaction: 600, Session: 600, Grant: 86400, RefreshToken: 86400 },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo(ctx, indicator) {
        if (indicator !== settings.resource) throw new errors.InvalidTarget();
        return {
          scope: 'tools:read tools:write',
          audience: indicator,
          accessTokenTTL: settings.life,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        };
      },
    },
  },
});
provider.use(async (ctx, next) => {
  await next();
  if (ctx.path.startsWith('/token')) {
    console.log(JSON.stringify({ path: ctx.path, grant: ctx.oidc?.params?.grant_type ?? '', status: ctx.status }));
  }
});
server.on('request', provider.callback());
console.log(port);
