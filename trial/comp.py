import runpy,sys,time
from pathlib import Path
runpy.run_path('main.py'); sys.path.insert(0,'.ci/path')
import torch
from roofscope.profiling.worker.build.providers import cuda
from roofscope.profiling.planning.spec import Dtype
for a in sys.argv[1:]:
    f,_,d=a.partition(':')
    t=time.time()
    try:
        m=cuda.compile_source(Path(f), Dtype(d or 'bfloat16'), 'sm_90a')
        open('/tmp/hD_'+Path(f).parent.name+'_'+(d or 'bfloat16')+'.cubin','wb').write(bytes(m.code))
        print(a,'ok',round(time.time()-t,1))
    except Exception as e:
        print(a, str(e), getattr(e,'log','') , getattr(e,'args',''))
