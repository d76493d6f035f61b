// The same frame as driver.py, for clients that run on Node: commands on standard input, answers on standard output.
import { createInterface } from 'node:readline';

const TEXT = '0123456789'.repeat(10);

// What a library prints must not get between our answers.
console.log = console.info = console.debug = console.error;

// `contender` has open(servers), call(server, tool, arguments) → text, close(); and may have open_many and open_list, as in driver.py.
// `--once TARGET` is a script that calls one tool of one server and ends.
export async function serve(contender) {
  if (process.argv[2] === '--once') {
    await contender.open({ echo: JSON.parse(process.argv[3]) });
    process.stdout.write((await contender.call('echo', 'echo', { text: TEXT })) + '\n');
    await contender.close();
    return;
  }
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    let answer;
    try {
      answer = await limited(obey(contender, command), command.limit);
    } catch (error) {
      answer = { error: `${error?.name}: ${error?.message}`.slice(0, 300) };
    }
    process.stdout.write(JSON.stringify(answer) + '\n', () => command.do === 'close' && process.exit(0));
  }
  process.exit(0);
}

function limited(promise, seconds) {
  if (!seconds) return promise;
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function obey(contender, command) {
  const started = performance.now();
  if (command.do === 'open') await opening(contender, command.way ?? 'open', command.servers);
  else if (command.do === 'reach') return reach(contender, command.how);
  else if (command.do === 'calls') return calls(contender, command.how);
  else if (command.do === 'call') {
    const text = await contender.call(command.server, command.tool, command.arguments);
    return { seconds: (performance.now() - started) / 1000, length: text.length, text: text.slice(0, 4000) };
  } else if (command.do === 'close') await contender.close();
  return { seconds: (performance.now() - started) / 1000 };
}

function opening(contender, way, servers) {
  return way in contender ? contender[way](servers) : contender.open(servers);
}

async function reach(contender, { servers, wanted, patience, way = 'open_many' }) {
  const started = performance.now();
  const answered = [];
  let failure = '';
  try {
    await limited(opening(contender, way, servers), patience);
  } catch (error) {
    failure = `${error?.name}: ${error?.message}`.slice(0, 300);
  }
  const first = async (server) => {
    await contender.call(server, 'echo', { text: TEXT });
    answered.push((performance.now() - started) / 1000);
  };
  const left = Math.max(1, patience - (performance.now() - started) / 1000);
  await limited(Promise.allSettled(wanted.map(first)), left).catch(() => {});
  return { answered: answered.length, seconds: Math.max(0, ...answered), failure };
}

async function calls(contender, how) {
  const { servers, in_flight, count, seconds, tool, argument, text } = how;
  const args = { [argument]: text };
  const echo = await contender.call(servers[0], tool, args);
  if (!echo.includes(text)) throw new Error(`not an echo: ${echo.slice(0, 200)}`);
  const took = [];
  const end = performance.now() + seconds * 1000;
  const work = async (server, share) => {
    for (let index = 0; index < share; index += 1) {
      const started = performance.now();
      await contender.call(server, tool, args);
      const now = performance.now();
      took.push((now - started) / 1000);
      if (now > end) return;
    }
  };
  const share = Math.max(1, Math.floor(count / (in_flight * servers.length)));
  const before = process.cpuUsage();
  const started = performance.now();
  await Promise.all(servers.flatMap((server) => Array.from({ length: in_flight }, () => work(server, share))));
  const passed = (performance.now() - started) / 1000;
  const used = process.cpuUsage(before);
  took.sort((a, b) => a - b);
  return {
    calls: took.length,
    seconds: passed,
    p50: took[Math.floor(took.length / 2)],
    p99: took[Math.floor(took.length * 0.99)],
    cpu: (used.user + used.system) / 1e6 / took.length,
  };
}
